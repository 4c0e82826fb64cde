/* SPDX-License-Identifier: Apache-2.0
 *
 * The parser and the writer of workload files: one table of keys serves both.
 */
#include "daemon/sim/workload.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "daemon/sim/quantity.h"

#define DEFAULT_MEMORY_BYTES (16ull << 30)
#define DEFAULT_LINK_BYTES (12ull << 30)
#define MIN_LINK_BYTES (1ull << 20)

enum key_type {
    KEY_NAME,
    KEY_TIME,
    KEY_BYTES,
    KEY_RATE, /* bytes a second: "12GiB/s" */
    KEY_COUNT,
    KEY_SIGNED,
    KEY_MILLI,
    KEY_THINK, /* a time, or exp(time) */
    KEY_HINT,
    KEY_NO_YES,
};

struct key {
    const char *name;
    enum key_type type;
    size_t offset;
    uint64_t min, max, fallback;
    bool required;
    const char *expected;
};

#define JOB(member) offsetof(struct workload_job, member)
#define DEVICE(member) offsetof(struct workload, member)
/* clang-format off */
static const struct key job_keys[] = {
    {"name", KEY_NAME, JOB(name), 1, WORKLOAD_MAX_NAME_BYTES, 0, true,
     "1 to 63 letters, digits or _-.:+"},
    {"arrival", KEY_TIME, JOB(arrival_ns), 0, WORKLOAD_MAX_TIME_NS, 0, false,
     "a time from 0 to 1000h, such as 12.5s"},
    {"persistent", KEY_BYTES, JOB(persistent_bytes), 0, WORKLOAD_MAX_BYTES, 0, true,
     "a size up to 16TiB, such as 300MiB"},
    {"ephemeral", KEY_BYTES, JOB(ephemeral_bytes), 0, WORKLOAD_MAX_BYTES, 0, true,
     "a size up to 16TiB, such as 5GiB"},
    {"iterations", KEY_COUNT, JOB(iterations), 1, 1000000000, 0, true,
     "a whole number from 1 to 1000000000"},
    {"iteration", KEY_TIME, JOB(iteration_ns), 1, WORKLOAD_MAX_TIME_NS, 0, true,
     "a time from 1ns to 1000h, such as 180ms"},
    {"demand", KEY_MILLI, JOB(demand_milli), 1, 1000, 1000, false, "a number from 0.001 to 1"},
    {"jitter", KEY_MILLI, JOB(jitter_milli), 0, 999, 0, false, "a number from 0 to 0.999"},
    {"think", KEY_THINK, JOB(think_ns), 0, WORKLOAD_MAX_TIME_NS, 0, false,
     "a time up to 1000h, such as 2ms, or exp(2ms)"},
    {"weight", KEY_COUNT, JOB(weight), 1, 1000000, 1, false,
     "a whole number from 1 to 1000000"},
    {"priority", KEY_SIGNED, JOB(priority), 0, 1000000, 0, false,
     "a whole number from -1000000 to 1000000"},
    {"group", KEY_COUNT, JOB(group), 0, 1000000000, 0, false,
     "a whole number from 0 to 1000000000"},
    {"admit_timeout", KEY_TIME, JOB(admit_timeout_ns), 0, WORKLOAD_MAX_TIME_NS, 0, false,
     "a time from 0 to 1000h"},
    {"hint", KEY_HINT, JOB(hint), 0, 0, WORKLOAD_HINT_DURATION, false,
     "duration, iterations or none"},
    {"unknown", KEY_NO_YES, JOB(unknown), 0, 0, 0, false, "yes or no"},
    {"boundaries", KEY_NO_YES, JOB(boundaries), 0, 0, 1, false, "yes or no"},
};
static const struct key device_keys[] = {
    {"memory", KEY_BYTES, DEVICE(memory_bytes), 1, WORKLOAD_MAX_BYTES, DEFAULT_MEMORY_BYTES,
     false, "a size from 1B to 16TiB"},
    {"link", KEY_RATE, DEVICE(link_bytes), MIN_LINK_BYTES, WORKLOAD_MAX_BYTES, DEFAULT_LINK_BYTES,
     false, "a rate from 1MiB/s to 16TiB/s"},
};
/* clang-format on */
#undef JOB
#undef DEVICE
#define JOB_KEYS (sizeof(job_keys) / sizeof(job_keys[0]))
#define DEVICE_KEYS (sizeof(device_keys) / sizeof(device_keys[0]))

static const char *const hints[] = {[WORKLOAD_HINT_DURATION] = "duration",
                                    [WORKLOAD_HINT_ITERATIONS] = "iterations",
                                    [WORKLOAD_HINT_NONE] = "none"};
static const char *const no_yes[] = {"no", "yes"};

struct parser {
    struct workload *w;
    struct buf *errors;
    uint64_t total_ns;
    uint32_t line, cap, faults;
    bool device_seen;
};

__attribute__((format(printf, 2, 3))) static void fault(struct parser *p, const char *fmt, ...) {
    char text[256];
    va_list ap;

    if (p->faults++ >= WORKLOAD_MAX_ERRORS) return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    buf_printf(p->errors, "%u: %s\n", p->line, text);
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool is_name_byte(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("_-.:+", c));
}

static int take_name(struct parser *p, const char *text, const char **out) {
    size_t n = 0;
    while (is_name_byte(text[n]))
        n++;
    if (n == 0 || n > WORKLOAD_MAX_NAME_BYTES || text[n]) return -EINVAL;
    *out = arena_strdup(p->w->arena, text);
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

/* "exp(2ms)" or "2ms", "12GiB/s": the number within. */
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

static int take_think(const struct key *k, const char *text, struct workload_job *j) {
    bool random = strncmp(text, "exp(", 4) == 0;
    int err = random ? take_within(k, QUANTITY_TIME, text, "exp(", ")", &j->think_ns)
                     : take_number(k, QUANTITY_TIME, text, &j->think_ns);
    j->think_random = random && j->think_ns > 0;
    return err;
}

static int take_value(struct parser *p, const struct key *k, const char *text, void *record) {
    void *at = (char *)record + k->offset;
    uint64_t n = 0;
    uint32_t word = 0;
    int err = -EINVAL;
    switch (k->type) {
    case KEY_NAME: return take_name(p, text, at);
    case KEY_TIME: return take_number(k, QUANTITY_TIME, text, at);
    case KEY_BYTES: return take_number(k, QUANTITY_BYTES, text, at);
    case KEY_RATE: return take_within(k, QUANTITY_BYTES, text, "", "/s", at);
    case KEY_SIGNED: return take_signed(k, text, at);
    case KEY_THINK: return take_think(k, text, record);
    case KEY_COUNT:
        err = take_number(k, QUANTITY_COUNT, text, &n);
        *(uint32_t *)at = (uint32_t)n;
        break;
    case KEY_MILLI:
        err = take_number(k, QUANTITY_MILLI, text, &n);
        *(uint32_t *)at = (uint32_t)n;
        break;
    case KEY_HINT: return take_word(hints, 3, text, at);
    case KEY_NO_YES:
        err = take_word(no_yes, 2, text, &word);
        *(bool *)at = word == 1;
        break;
    }
    return err;
}

static void set_fallback(const struct key *k, void *record) {
    void *at = (char *)record + k->offset;
    switch (k->type) {
    case KEY_NAME: break;
    case KEY_TIME:
    case KEY_BYTES:
    case KEY_RATE:
    case KEY_THINK: *(uint64_t *)at = k->fallback; break;
    case KEY_COUNT:
    case KEY_MILLI:
    case KEY_HINT: *(uint32_t *)at = (uint32_t)k->fallback; break;
    case KEY_SIGNED: *(int32_t *)at = (int32_t)k->fallback; break;
    case KEY_NO_YES: *(bool *)at = k->fallback != 0; break;
    }
}

/* ---- lines ----------------------------------------------------------------------------------- */

static int take_pair(struct parser *p, const struct key *keys, size_t count, char *word,
                     void *record, uint32_t *seen) {
    char *value = strchr(word, '=');
    size_t i = 0;
    if (!value) {
        fault(p, "'%.60s' is not of the form key=value", word);
        return 0;
    }
    *value++ = '\0';
    while (i < count && strcmp(keys[i].name, word) != 0)
        i++;
    if (i == count) {
        fault(p, "there is no key '%.60s' here", word);
        return 0;
    }
    if (*seen & 1u << i) fault(p, "%s: given twice", word);
    *seen |= 1u << i;
    int err = take_value(p, &keys[i], value, record);
    if (err == -ENOMEM) return err;
    if (err) fault(p, "%s: '%.60s' is not %s", word, value, keys[i].expected);
    return 0;
}

static int take_pairs(struct parser *p, const struct key *keys, size_t count, char *rest,
                      void *record) {
    uint32_t seen = 0;
    for (size_t i = 0; i < count; i++)
        set_fallback(&keys[i], record);
    for (char *word; (word = strtok_r(rest, " \t", &rest));) {
        int err = take_pair(p, keys, count, word, record, &seen);
        if (err) return err;
    }
    for (size_t i = 0; i < count; i++)
        if (keys[i].required && !(seen & 1u << i)) fault(p, "%s is missing", keys[i].name);
    return 0;
}

/* Nothing that the simulator adds up can overflow. */
static void bound_total(struct parser *p, const struct workload_job *j) {
    uint64_t each = j->iteration_ns + j->iteration_ns / 1000 * j->jitter_milli + j->think_ns, all;
    if (__builtin_mul_overflow(each, (uint64_t)j->iterations, &all) ||
        __builtin_add_overflow(all, p->total_ns, &p->total_ns) ||
        p->total_ns > WORKLOAD_MAX_TOTAL_NS) {
        fault(p, "the jobs so far take more than 36 years");
        p->total_ns = 0;
    }
}

static int take_job(struct parser *p, char *rest) {
    struct workload *w = p->w;
    if (w->count == WORKLOAD_MAX_JOBS) {
        fault(p, "more than %u jobs", WORKLOAD_MAX_JOBS);
        return -E2BIG;
    }
    if (w->count == p->cap) {
        uint32_t cap = p->cap ? 2 * p->cap : 64;
        struct workload_job *jobs = realloc(w->jobs, cap * sizeof(*jobs));
        if (!jobs) return -ENOMEM;
        w->jobs = jobs;
        p->cap = cap;
    }
    struct workload_job *j = &w->jobs[w->count++];
    uint32_t faults = p->faults;
    *j = (struct workload_job){0};
    int err = take_pairs(p, job_keys, JOB_KEYS, rest, j);
    if (!err && p->faults == faults) bound_total(p, j);
    return err;
}

static int take_line(struct parser *p, char *line) {
    char *rest = line;
    const char *word = strtok_r(rest, " \t", &rest);
    if (!word) return 0;
    if (strcmp(word, "job") == 0) return take_job(p, rest);
    if (strcmp(word, "device") != 0) {
        fault(p, "'%.60s': a line begins with job or device", word);
        return 0;
    }
    if (p->device_seen) fault(p, "a second device");
    p->device_seen = true;
    return take_pairs(p, device_keys, DEVICE_KEYS, rest, p->w);
}

/* Printable ASCII, tabs, and a carriage return before the newline. */
static bool is_text(const char *line, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        if ((line[i] < ' ' && line[i] != '\t') || line[i] == 127) return false;
    return true;
}

static int take_raw_line(struct parser *p, const char *text, size_t bytes) {
    char line[WORKLOAD_MAX_LINE_BYTES + 1];
    if (bytes > 0 && text[bytes - 1] == '\r') bytes--;
    p->line++;
    if (bytes > WORKLOAD_MAX_LINE_BYTES) {
        fault(p, "longer than %u bytes", WORKLOAD_MAX_LINE_BYTES);
        return 0;
    }
    const char *hash = memchr(text, '#', bytes); /* a comment may hold anything */
    if (hash) bytes = (size_t)(hash - text);
    if (!is_text(text, bytes)) {
        fault(p, "a byte that is not printable ASCII");
        return 0;
    }
    memcpy(line, text, bytes);
    line[bytes] = '\0';
    return take_line(p, line);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Stable, in place of qsort: equal arrivals stay in the order of the file. */
static int sort_by_arrival(struct workload *w) {
    struct workload_job *from = w->jobs, *to = malloc((w->count + 1u) * sizeof(*to));
    if (!to) return -ENOMEM;
    for (uint32_t width = 1; width < w->count; width *= 2) {
        for (uint32_t lo = 0; lo < w->count; lo += 2 * width) {
            uint32_t mid = lo + width < w->count ? lo + width : w->count;
            uint32_t hi = mid + width < w->count ? mid + width : w->count;
            for (uint32_t a = lo, b = mid, k = lo; k < hi; k++)
                to[k] = a < mid && (b == hi || from[a].arrival_ns <= from[b].arrival_ns)
                            ? from[a++]
                            : from[b++];
        }
        struct workload_job *swap = from;
        from = to;
        to = swap;
    }
    w->jobs = from;
    free(to);
    return 0;
}

static int parse_lines(struct parser *p, const char *text, size_t bytes) {
    while (bytes > 0) {
        const char *newline = memchr(text, '\n', bytes);
        size_t n = newline ? (size_t)(newline - text) : bytes;
        int err = take_raw_line(p, text, n);
        if (err) return err;
        n += newline != NULL;
        text += n;
        bytes -= n;
    }
    return 0;
}

int workload_parse(struct workload *out, const char *text, size_t bytes, struct buf *errors) {
    struct parser p = {.w = out, .errors = errors};
    *out =
        (struct workload){.memory_bytes = DEFAULT_MEMORY_BYTES, .link_bytes = DEFAULT_LINK_BYTES};
    out->arena = arena_create();
    if (!out->arena) return -ENOMEM;
    int err = bytes > WORKLOAD_MAX_FILE_BYTES ? -E2BIG : parse_lines(&p, text, bytes);
    if (err == -E2BIG && p.faults == 0) fault(&p, "more than 256 MiB");
    if (!err && out->count == 0 && p.faults == 0) {
        p.line = 0;
        fault(&p, "no job");
    }
    if (p.faults > WORKLOAD_MAX_ERRORS)
        buf_printf(errors, "and %u more\n", p.faults - WORKLOAD_MAX_ERRORS);
    if (!err && p.faults == 0) err = sort_by_arrival(out);
    if (err != -ENOMEM && p.faults) err = -EINVAL;
    if (err) workload_finish(out);
    return err;
}

static int read_all(int fd, struct buf *text) {
    for (;;) {
        ssize_t n;
        if (buf_reserve(text, 65536)) return -ENOMEM;
        do
            n = read(fd, text->data + text->len, text->cap - text->len);
        while (n < 0 && errno == EINTR);
        if (n <= 0) return n < 0 ? -errno : 0;
        text->len += (size_t)n;
        if (text->len > WORKLOAD_MAX_FILE_BYTES) return 0; /* parsing refuses it */
    }
}

int workload_read(struct workload *out, const char *path, struct buf *errors) {
    struct buf text;
    int fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    int err = fd < 0 ? -errno : 0;
    *out = (struct workload){0};
    buf_init(&text);
    if (!err) err = read_all(fd, &text);
    if (err)
        buf_printf(errors, "%s\n", strerror(-err));
    else
        err = workload_parse(out, (const char *)text.data, text.len, errors);
    if (fd > STDIN_FILENO) fdutil_close(&fd);
    buf_finish(&text);
    return err;
}

void workload_finish(struct workload *w) {
    arena_destroy(w->arena);
    free(w->jobs);
    *w = (struct workload){0};
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_value(const struct key *k, const void *record, FILE *out) {
    const void *at = (const char *)record + k->offset;
    const struct workload_job *j = record;
    char text[64];
    switch (k->type) {
    case KEY_NAME: fprintf(out, "%s", *(const char *const *)at); return;
    case KEY_TIME:
    case KEY_THINK: quantity_print(QUANTITY_TIME, *(const uint64_t *)at, text, sizeof(text)); break;
    case KEY_BYTES:
    case KEY_RATE: quantity_print(QUANTITY_BYTES, *(const uint64_t *)at, text, sizeof(text)); break;
    case KEY_COUNT: fprintf(out, "%" PRIu32, *(const uint32_t *)at); return;
    case KEY_SIGNED: fprintf(out, "%" PRId32, *(const int32_t *)at); return;
    case KEY_MILLI:
        quantity_print(QUANTITY_MILLI, *(const uint32_t *)at, text, sizeof(text));
        break;
    case KEY_HINT: fputs(hints[*(const uint32_t *)at], out); return;
    case KEY_NO_YES: fputs(no_yes[*(const bool *)at], out); return;
    }
    if (k->type == KEY_THINK && j->think_random)
        fprintf(out, "exp(%s)", text);
    else
        fprintf(out, "%s%s", text, k->type == KEY_RATE ? "/s" : "");
}

static bool is_fallback(const struct key *k, const void *record) {
    struct workload_job plain = {0};
    const char *at = (const char *)record + k->offset;
    if (k->required || k->type == KEY_RATE || k->type == KEY_NAME) return false;
    set_fallback(k, &plain);
    switch (k->type) {
    case KEY_TIME:
    case KEY_BYTES:
    case KEY_THINK: return memcmp(at, (char *)&plain + k->offset, sizeof(uint64_t)) == 0;
    case KEY_NO_YES: return memcmp(at, (char *)&plain + k->offset, sizeof(bool)) == 0;
    default: return memcmp(at, (char *)&plain + k->offset, sizeof(uint32_t)) == 0;
    }
}

void workload_write(const struct workload *w, FILE *out) {
    fputs("device", out);
    for (size_t i = 0; i < DEVICE_KEYS; i++) {
        fprintf(out, " %s=", device_keys[i].name);
        write_value(&device_keys[i], w, out);
    }
    fputc('\n', out);
    for (uint32_t n = 0; n < w->count; n++) {
        fputs("job", out);
        for (size_t i = 0; i < JOB_KEYS; i++) {
            if (is_fallback(&job_keys[i], &w->jobs[n])) continue;
            fprintf(out, " %s=", job_keys[i].name);
            write_value(&job_keys[i], &w->jobs[n], out);
        }
        fputc('\n', out);
    }
}
