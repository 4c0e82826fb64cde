/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of keys, and the notation of their values for reading and writing.
 */
#include "daemon/sim/workload/workload_keys.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "daemon/policy/reason.h"
#include "daemon/sim/base/quantity.h"

#define DEFAULT_MEMORY_BYTES (16ull << 30)
#define DEFAULT_LINK_BYTES (12ull << 30)
#define MIN_LINK_BYTES (1ull << 20)
#define MAX_DISPATCH_NS 1000000000u
#define MAX_SLICE_NS 1000000000

#define JOB(member) offsetof(struct workload_job, member)
#define DEVICE(member) offsetof(struct workload, member)
#define KERNEL(member) offsetof(struct workload_kernel, member)
#define USE_KEY                                                                                \
    {                                                                                          \
        "use", KEY_MILLI, KERNEL(use_milli), 1, 1000, 1000, false, "a number from 0.001 to 1", \
            KEY_ANY                                                                            \
    }
#define NAME_EXPECTED "1 to 63 letters, digits or _-.:+"
/* clang-format off */
static const struct key job_keys[] = {
    {"name", KEY_NAME, JOB(name), 1, WORKLOAD_MAX_NAME_BYTES, 0, true, NAME_EXPECTED, KEY_ANY},
    {"arrival", KEY_TIME, JOB(arrival_ns), 0, WORKLOAD_MAX_TIME_NS, 0, false,
     "a time from 0 to 1000h, such as 12.5s", KEY_ANY},
    {"persistent", KEY_BYTES, JOB(persistent_bytes), 0, WORKLOAD_MAX_BYTES, 0, true,
     "a size up to 16TiB, such as 300MiB", KEY_ANY},
    {"ephemeral", KEY_BYTES, JOB(ephemeral_bytes), 0, WORKLOAD_MAX_BYTES, 0, true,
     "a size up to 16TiB, such as 5GiB", KEY_ANY},
    {"iterations", KEY_COUNT, JOB(iterations), 1, 1000000000, 0, false,
     "a whole number from 1 to 1000000000", KEY_ANY},
    {"iteration", KEY_TIME, JOB(iteration_ns), 1, WORKLOAD_MAX_TIME_NS, 0, false,
     "a time from 1ns to 1000h, such as 180ms", KEY_ITERATION},
    {"demand", KEY_MILLI, JOB(demand_milli), 1, 1000, 1000, false, "a number from 0.001 to 1",
     KEY_ITERATION},
    {"jitter", KEY_MILLI, JOB(jitter_milli), 0, 999, 0, false, "a number from 0 to 0.999",
     KEY_ITERATION},
    {"think", KEY_THINK, JOB(think_ns), 0, WORKLOAD_MAX_TIME_NS, 0, false,
     "a time up to 1000h, such as 2ms, or exp(2ms)", KEY_ANY},
    {"host", KEY_TIME, JOB(host_ns), 0, WORKLOAD_MAX_TIME_NS, 0, false,
     "a time from 0 to 1000h, such as 2ms", KEY_ANY},
    {"kernels", KEY_NAME, JOB(kernels), 1, WORKLOAD_MAX_NAME_BYTES, 0, false, NAME_EXPECTED,
     KEY_KERNEL},
    {"every", KEY_EVERY, JOB(every_ns), 1, WORKLOAD_MAX_TIME_NS, 0, false,
     "closed, a time from 1ns to 1000h, exp(time), gaps:NAME or shuffled:NAME", KEY_KERNEL},
    {"launch", KEY_TIME, JOB(launch_ns), 0, 1000000000, 0, false, "a time from 0 to 1s",
     KEY_KERNEL},
    {"start", KEY_TIME, JOB(start_ns), 0, WORKLOAD_MAX_TIME_NS, 0, false,
     "a time from 0 to 1000h", KEY_ANY},
    {"finish", KEY_TIME, JOB(finish_ns), 0, WORKLOAD_MAX_TIME_NS, 0, false,
     "a time from 0 to 1000h", KEY_ANY},
    {"request", KEY_TIME, JOB(request_ns), 0, WORKLOAD_MAX_TIME_NS, 0, false,
     "a time from 0 to 1000h", KEY_ANY},
    {"slo", KEY_TIME, JOB(slo_ns), 0, WORKLOAD_MAX_TIME_NS, 0, false, "a time from 0 to 1000h",
     KEY_ANY},
    {"slo_of", KEY_SLO_OF, JOB(slo_of), 0, 0, SCHED_SLO_MEAN, false, "mean, p50, p95 or p99",
     KEY_ANY},
    {"burst", KEY_NAME, JOB(burst), 1, WORKLOAD_MAX_NAME_BYTES, 0, false, NAME_EXPECTED,
     KEY_KERNEL},
    {"burst_from", KEY_TIME, JOB(burst_from_ns), 0, WORKLOAD_MAX_TIME_NS, 0, false,
     "a time from 0 to 1000h", KEY_KERNEL},
    {"burst_until", KEY_TIME, JOB(burst_until_ns), 0, WORKLOAD_MAX_TIME_NS, 0, false,
     "a time from 0 to 1000h", KEY_KERNEL},
    {"weight", KEY_COUNT, JOB(weight), 1, 1000000, 1, false,
     "a whole number from 1 to 1000000", KEY_ANY},
    {"priority", KEY_SIGNED, JOB(priority), 0, 1000000, 0, false,
     "a whole number from -1000000 to 1000000", KEY_ANY},
    {"group", KEY_COUNT, JOB(group), 0, 1000000000, 0, false,
     "a whole number from 0 to 1000000000", KEY_ANY},
    {"user", KEY_COUNT, JOB(user), 0, 1000000000, 0, false,
     "a whole number from 0 to 1000000000", KEY_ANY},
    {"admit_timeout", KEY_TIME, JOB(admit_timeout_ns), 0, WORKLOAD_MAX_TIME_NS, 0, false,
     "a time from 0 to 1000h", KEY_ANY},
    {"hint", KEY_HINT, JOB(hint), 0, 0, WORKLOAD_HINT_DURATION, false,
     "duration, iterations or none", KEY_ANY},
    {"unknown", KEY_NO_YES, JOB(unknown), 0, 0, 0, false, "yes or no", KEY_ANY},
    {"boundaries", KEY_NO_YES, JOB(boundaries), 0, 0, 1, false, "yes or no", KEY_ANY},
};
static const struct key device_keys[] = {
    {"memory", KEY_BYTES, DEVICE(memory_bytes), 1, WORKLOAD_MAX_BYTES, DEFAULT_MEMORY_BYTES,
     false, "a size from 1B to 16TiB", KEY_ANY},
    {"link", KEY_RATE, DEVICE(link_bytes), MIN_LINK_BYTES, WORKLOAD_MAX_BYTES, DEFAULT_LINK_BYTES,
     false, "a rate from 1MiB/s to 16TiB/s", KEY_ANY},
    {"sms", KEY_COUNT, DEVICE(sms), 1, WORKLOAD_MAX_SMS, WORKLOAD_DEFAULT_SMS, false,
     "a whole number from 1 to 65536", KEY_ANY},
    {"share_sms", KEY_COUNT, DEVICE(share_sms), 1, WORKLOAD_MAX_SMS, 1, false,
     "a whole number from 1 to 65536", KEY_ANY},
    {"dispatch", KEY_TIME, DEVICE(dispatch_ns), 0, MAX_DISPATCH_NS, 0, false,
     "a time from 0 to 1s, such as 5us", KEY_ANY},
    {"slice", KEY_TIME, DEVICE(slice_ns), 0, MAX_SLICE_NS, 0, false,
     "a time from 0 to 1s, such as 40us", KEY_ANY},
    {"subgrids", KEY_NO_YES, DEVICE(subgrids), 0, 0, 0, false, "yes or no", KEY_ANY},
    {"right_size", KEY_MILLI, DEVICE(right_milli), 0, 1000, 0, false, "a number from 0 to 1",
     KEY_ANY},
    {"sliced", KEY_NO_YES, DEVICE(sliced), 0, 0, 0, false, "yes or no", KEY_ANY},
    {"wait", KEY_TIME, DEVICE(wait_ns), 0, MAX_DISPATCH_NS, 0, false,
     "a time from 0 to 1s, such as 100us", KEY_ANY},
    {"slots", KEY_MILLI, DEVICE(slots_milli), 1000, 2000, 0, false, "a number from 1 to 2",
     KEY_ANY},
    {"left", KEY_MILLI, DEVICE(left_milli), 1, 1000, 0, false, "a number from 0.001 to 1", KEY_ANY},
    {"share_users", KEY_NO_YES, DEVICE(share_users), 0, 0, 0, false, "yes or no", KEY_ANY},
    {"until", KEY_TIME, DEVICE(until_ns), 0, WORKLOAD_MAX_TIME_NS, 0, false,
     "a time from 0 to 1000h, such as 60s", KEY_ANY},
};
static const struct key kernel_keys[] = {
    {"sms", KEY_COUNT, KERNEL(sms), 1, WORKLOAD_MAX_KERNEL_SMS, 0, true,
     "a whole number from 1 to 100000000", KEY_ANY},
    {"full", KEY_COUNT, KERNEL(full), 1, WORKLOAD_MAX_SMS, 0, false,
     "a whole number from 1 to 65536", KEY_ANY},
    {"class", KEY_CLASS, KERNEL(class), 0, 0, SCHED_CLASS_UNKNOWN, false,
     "compute, memory or unknown", KEY_ANY},
    {"compute", KEY_MILLI, KERNEL(compute_milli), 0, 1000, WORKLOAD_BY_CLASS, false,
     "a number from 0 to 1", KEY_ANY},
    {"memory", KEY_MILLI, KERNEL(memory_milli), 0, 1000, WORKLOAD_BY_CLASS, false,
     "a number from 0 to 1", KEY_ANY},
    USE_KEY,
};
static const struct key copy_keys[] = {USE_KEY};
static const struct key name_keys[] = {
    {"name", KEY_NAME, 0, 1, WORKLOAD_MAX_NAME_BYTES, 0, true, NAME_EXPECTED, KEY_ANY},
};
/* clang-format on */
#undef JOB
#undef DEVICE
#undef KERNEL

#define KEYS(list) \
    { (list), sizeof(list) / sizeof((list)[0]) }
const struct keys workload_keys_device = KEYS(device_keys), workload_keys_job = KEYS(job_keys),
                  workload_keys_kernel = KEYS(kernel_keys), workload_keys_copy = KEYS(copy_keys),
                  workload_keys_name = KEYS(name_keys);

static const char *const hints[] = {[WORKLOAD_HINT_DURATION] = "duration",
                                    [WORKLOAD_HINT_ITERATIONS] = "iterations",
                                    [WORKLOAD_HINT_NONE] = "none"};
static const char *const classes[] = {[SCHED_CLASS_UNKNOWN] = "unknown",
                                      [SCHED_CLASS_COMPUTE] = "compute",
                                      [SCHED_CLASS_MEMORY] = "memory"};
static const char *const slos[] = {
#define X(name, text) text,
    REASON_SLO_OF(X)
#undef X
};
static const char *const no_yes[] = {"no", "yes"};

/* ---- reading --------------------------------------------------------------------------------- */

static bool is_name_byte(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("_-.:+", c));
}

static int take_name(struct arena *arena, const char *text, const char **out) {
    size_t n = 0;
    while (is_name_byte(text[n]))
        n++;
    if (n == 0 || n > WORKLOAD_MAX_NAME_BYTES || text[n]) return -EINVAL;
    *out = arena_strdup(arena, text);
    return *out ? 0 : -ENOMEM;
}

static int take_number(const struct key *k, enum quantity kind, const char *text, uint64_t *out) {
    int err = quantity_parse(kind, text, out);
    return !err && (*out < k->min || *out > k->max) ? -ERANGE : err;
}

static int take_signed(const struct key *k, const char *text, int32_t *out) {
    uint64_t n;
    int err = take_number(k, QUANTITY_COUNT, text + (*text == '-'), &n);
    if (!err) *out = *text == '-' ? -(int32_t)n : (int32_t)n;
    return err;
}

/* Parses the number within a text such as "exp(2ms)" or "12GiB/s". */
static int take_within(const struct key *k, enum quantity kind, const char *text,
                       const char *before, const char *after, uint64_t *out) {
    char copy[64];
    size_t n = strlen(text), b = strlen(before), a = strlen(after);
    if (n < b + a || n - b - a >= sizeof(copy) || strncmp(text, before, b) != 0 ||
        strcmp(text + n - a, after) != 0)
        return -EINVAL;
    memcpy(copy, text + b, n - b - a);
    copy[n - b - a] = '\0';
    return take_number(k, kind, copy, out);
}

static int take_word(const char *const *words, uint32_t count, const char *text, uint32_t *out) {
    for (*out = 0; *out < count; ++*out)
        if (strcmp(words[*out], text) == 0) return 0;
    return -EINVAL;
}

/* Parses a time, or the mean of an exponential distribution. */
static int take_random(const struct key *k, const char *text, uint64_t *ns, bool *random) {
    *random = strncmp(text, "exp(", 4) == 0;
    return *random ? take_within(k, QUANTITY_TIME, text, "exp(", ")", ns)
                   : take_number(k, QUANTITY_TIME, text, ns);
}

static int take_think(const struct key *k, const char *text, struct workload_job *j) {
    bool random;
    int err = take_random(k, text, &j->think_ns, &random);
    j->think_random = random && j->think_ns > 0;
    return err;
}

static int take_every(struct arena *arena, const struct key *k, const char *text,
                      struct workload_job *j) {
    bool random;
    if (strcmp(text, "closed") == 0) return 0;
    if (strncmp(text, "gaps:", 5) == 0 || strncmp(text, "shuffled:", 9) == 0) {
        j->arrivals = *text == 'g' ? WORKLOAD_GAPS : WORKLOAD_SHUFFLED;
        return take_name(arena, strchr(text, ':') + 1, &j->gaps_name);
    }
    int err = take_random(k, text, &j->every_ns, &random);
    j->arrivals = random ? WORKLOAD_POISSON : WORKLOAD_FIXED;
    return err;
}

int workload_keys_take(struct arena *arena, const struct key *k, const char *text, void *record) {
    void *at = (char *)record + k->offset;
    uint64_t n = 0;
    uint32_t word = 0;
    int err = -EINVAL;
    switch (k->type) {
    case KEY_NAME: return take_name(arena, text, at);
    case KEY_TIME: return take_number(k, QUANTITY_TIME, text, at);
    case KEY_BYTES: return take_number(k, QUANTITY_BYTES, text, at);
    case KEY_RATE: return take_within(k, QUANTITY_BYTES, text, "", "/s", at);
    case KEY_SIGNED: return take_signed(k, text, at);
    case KEY_THINK: return take_think(k, text, record);
    case KEY_EVERY: return take_every(arena, k, text, record);
    case KEY_COUNT:
        err = take_number(k, QUANTITY_COUNT, text, &n);
        *(uint32_t *)at = (uint32_t)n;
        break;
    case KEY_MILLI:
        err = take_number(k, QUANTITY_MILLI, text, &n);
        *(uint32_t *)at = (uint32_t)n;
        break;
    case KEY_HINT: return take_word(hints, 3, text, at);
    case KEY_CLASS: return take_word(classes, 3, text, at);
    case KEY_SLO_OF: return take_word(slos, SCHED_SLO_KINDS, text, at);
    case KEY_NO_YES:
        err = take_word(no_yes, 2, text, &word);
        *(bool *)at = word == 1;
        break;
    }
    return err;
}

void workload_keys_fall_back(const struct key *k, void *record) {
    void *at = (char *)record + k->offset;
    switch (k->type) {
    case KEY_NAME: break;
    case KEY_TIME:
    case KEY_BYTES:
    case KEY_RATE:
    case KEY_THINK:
    case KEY_EVERY: *(uint64_t *)at = k->fallback; break;
    case KEY_COUNT:
    case KEY_MILLI:
    case KEY_HINT:
    case KEY_CLASS:
    case KEY_SLO_OF: *(uint32_t *)at = (uint32_t)k->fallback; break;
    case KEY_SIGNED: *(int32_t *)at = (int32_t)k->fallback; break;
    case KEY_NO_YES: *(bool *)at = k->fallback != 0; break;
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_every(const struct workload_job *j, const char *time, FILE *out) {
    switch ((enum workload_arrivals)j->arrivals) {
    case WORKLOAD_CLOSED: fputs("closed", out); break;
    case WORKLOAD_FIXED: fputs(time, out); break;
    case WORKLOAD_POISSON: fprintf(out, "exp(%s)", time); break;
    case WORKLOAD_GAPS: fprintf(out, "gaps:%s", j->gaps_name); break;
    case WORKLOAD_SHUFFLED: fprintf(out, "shuffled:%s", j->gaps_name); break;
    }
}

static void write_value(const struct key *k, const void *record, FILE *out) {
    const void *at = (const char *)record + k->offset;
    const struct workload_job *j = record;
    char text[64] = "";
    switch (k->type) {
    case KEY_NAME: fprintf(out, "%s", *(const char *const *)at); return;
    case KEY_TIME:
    case KEY_THINK:
    case KEY_EVERY: quantity_print(QUANTITY_TIME, *(const uint64_t *)at, text, sizeof(text)); break;
    case KEY_BYTES:
    case KEY_RATE: quantity_print(QUANTITY_BYTES, *(const uint64_t *)at, text, sizeof(text)); break;
    case KEY_COUNT: fprintf(out, "%" PRIu32, *(const uint32_t *)at); return;
    case KEY_SIGNED: fprintf(out, "%" PRId32, *(const int32_t *)at); return;
    case KEY_MILLI:
        quantity_print(QUANTITY_MILLI, *(const uint32_t *)at, text, sizeof(text));
        break;
    case KEY_HINT: fputs(hints[*(const uint32_t *)at], out); return;
    case KEY_CLASS: fputs(classes[*(const uint32_t *)at], out); return;
    case KEY_SLO_OF: fputs(slos[*(const uint32_t *)at], out); return;
    case KEY_NO_YES: fputs(no_yes[*(const bool *)at], out); return;
    }
    if (k->type == KEY_EVERY)
        write_every(j, text, out);
    else if (k->type == KEY_THINK && j->think_random)
        fprintf(out, "exp(%s)", text);
    else
        fprintf(out, "%s%s", text, k->type == KEY_RATE ? "/s" : "");
}

bool workload_keys_is_fallback(const struct key *k, const void *record) {
    const void *at = (const char *)record + k->offset;
    if (k->required) return false;
    switch (k->type) {
    case KEY_NAME: return *(const char *const *)at == NULL;
    case KEY_TIME:
    case KEY_BYTES:
    case KEY_RATE:
    case KEY_THINK: return *(const uint64_t *)at == k->fallback;
    case KEY_EVERY: return ((const struct workload_job *)record)->arrivals == WORKLOAD_CLOSED;
    case KEY_COUNT:
    case KEY_MILLI:
    case KEY_HINT:
    case KEY_CLASS:
    case KEY_SLO_OF: return *(const uint32_t *)at == (uint32_t)k->fallback;
    case KEY_SIGNED: return *(const int32_t *)at == (int32_t)k->fallback;
    case KEY_NO_YES: return *(const bool *)at == (k->fallback != 0);
    }
    return false;
}

void workload_keys_write(const struct keys *keys, const void *record, FILE *out) {
    for (uint32_t i = 0; i < keys->count; i++) {
        if (workload_keys_is_fallback(&keys->list[i], record)) continue;
        fprintf(out, " %s=", keys->list[i].name);
        write_value(&keys->list[i], record, out);
    }
}
