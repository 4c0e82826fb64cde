/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses and checks the options of a job.
 */
#include "proto/wire/job.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/units.h"
#include "daemon/policy/reason.h"
#include "proto/cuda/capability.h"

#define NS_A_YEAR 31557600000000000

enum kind { BYTES, COUNT, SIGNED, TIME, TEXT, CAPABILITY, MODE, SWITCH, SLO_OF };

struct option {
    const char *variable;
    enum kind kind;
    size_t offset, bytes; /* position and size of the field */
    uint64_t least, most;
};

#define FIELD(variable, kind, field, least, most)                                                \
    {                                                                                            \
        variable, kind, offsetof(struct wire_job, field), sizeof(((struct wire_job *)0)->field), \
            least, most                                                                          \
    }

static const struct option options[] = {
#define X(option, variable, kind, field, least, most, sentence) \
    FIELD(variable, kind, field, least, most),
    JOB_OPTIONS(X)
#undef X
        FIELD(JOB_RUN_VARIABLE, COUNT, run, 0, UINT32_MAX),
};

#define OPTIONS (sizeof(options) / sizeof(options[0]))

__attribute__((format(printf, 2, 3))) static int bad(char *why, const char *fmt, ...) {
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why, JOB_WHY_BYTES, fmt, ap);
    va_end(ap);
    return -EINVAL;
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static bool good_group(const char *group, size_t cap) {
    size_t n = strnlen(group, cap);

    if (n == cap) return false;
    for (size_t i = 0; i < n; i++)
        if (group[i] <= ' ' || group[i] > '~' || group[i] == '"') return false;
    return true;
}

int job_check(struct wire_job *job, char *why) {
    if (job->flags & ~(WIRE_JOB_RESERVED | WIRE_JOB_NULL | WIRE_JOB_SAVEPOINTS))
        return bad(why, "the job has flags that are unknown here: 0x%x", job->flags);
    if (job->capability && !capability_known(job->capability))
        return bad(why, "compute capability %u.%u is not one of " CAPABILITY_CHOICES,
                   job->capability / 10, job->capability % 10);
    if (job->persistent_bytes > JOB_BYTES_MAX || job->ephemeral_bytes > JOB_BYTES_MAX)
        return bad(why, "the job's memory is more than %llu TiB", JOB_BYTES_MAX >> 40);
    if (job->weight > JOB_WEIGHT_MAX)
        return bad(why, "weight %u is not from 1 to %u", job->weight, JOB_WEIGHT_MAX);
    if (job->priority < -JOB_PRIORITY_MAX || job->priority > JOB_PRIORITY_MAX)
        return bad(why, "priority %d is not from -%d to %d", job->priority, JOB_PRIORITY_MAX,
                   JOB_PRIORITY_MAX);
    if (job->iterations > JOB_ITERATIONS_MAX)
        return bad(why, "iterations: more than %llu", JOB_ITERATIONS_MAX);
    if (job->duration_ns > JOB_NS_MAX || job->request_ns > JOB_NS_MAX ||
        job->admit_timeout_ns > JOB_NS_MAX || job->slo_ns > JOB_NS_MAX)
        return bad(why, "a time of the job is more than %llu years", JOB_NS_MAX / NS_A_YEAR);
    if (*reason_slo_of(job->slo_of) == '?')
        return bad(why, "a target of latency is of %u, not of mean, p50, p95 or p99", job->slo_of);
    if (!good_group(job->group, sizeof(job->group)))
        return bad(why, "the group's name is not 1 to %zu printable characters",
                   sizeof(job->group) - 1);
    memset(job->group + strlen(job->group), 0, sizeof(job->group) - strlen(job->group));
    if (!(job->flags & WIRE_JOB_RESERVED)) job->persistent_bytes = job->ephemeral_bytes = 0;
    return 0;
}

int job_gpu(const char *value, uint32_t *gpu, char *why) {
    uint64_t number;

    *gpu = 0;
    if (!value || !*value) return 0;
    if (units_parse(UNITS_NONE, value, &number) < 0 || number >= UINT32_MAX)
        return bad(why, JOB_GPU_VARIABLE ": '%.40s' is not the number of a GPU", value);
    *gpu = (uint32_t)number + 1;
    return 0;
}

int job_strict(const char *value, bool *strict, char *why) {
    *strict = value && strcmp(value, "1") == 0;
    if (*strict || !value || !*value || strcmp(value, "0") == 0) return 0;
    return bad(why, JOB_STRICT_VARIABLE ": '%.40s' is not 0 or 1", value);
}

/* ---- one option ------------------------------------------------------------------------------ */

static int set_group(struct wire_job *job, const char *variable, const char *value, char *why) {
    if (!good_group(value, sizeof(job->group)))
        return bad(why, "%s: '%.40s' is not 1 to %zu printable characters", variable, value,
                   sizeof(job->group) - 1);
    memset(job->group, 0, sizeof(job->group));
    memcpy(job->group, value, strlen(value));
    return 0;
}

static int set_capability(struct wire_job *job, const char *variable, const char *value,
                          char *why) {
    uint32_t capability = capability_parse(value);

    if (!capability)
        return bad(why, "%s: '%.40s' is not one of " CAPABILITY_CHOICES, variable, value);
    job->capability = (uint16_t)capability;
    return 0;
}

static int set_mode(struct wire_job *job, const char *variable, const char *value, char *why) {
    bool null = strcmp(value, "null") == 0;

    if (!null && strcmp(value, "compute") != 0)
        return bad(why, "%s: '%.40s' is not compute or null", variable, value);
    job->flags = (uint16_t)(null ? job->flags | WIRE_JOB_NULL : job->flags & ~WIRE_JOB_NULL);
    return 0;
}

/* Sets a flag, which is o->most. */
static int set_switch(struct wire_job *job, const struct option *o, const char *value, char *why) {
    bool yes = strcmp(value, "yes") == 0;

    if (!yes && strcmp(value, "no") != 0)
        return bad(why, "%s: '%.40s' is not yes or no", o->variable, value);
    job->flags = (uint16_t)(yes ? job->flags | o->most : job->flags & ~o->most);
    return 0;
}

static int set_slo_of(struct wire_job *job, const char *variable, const char *value, char *why) {
    int of = reason_find_slo_of(value);

    if (of < 0) return bad(why, "%s: '%.40s' is not mean, p50, p95 or p99", variable, value);
    job->slo_of = (uint32_t)of;
    return 0;
}

static enum units units_of(enum kind kind) {
    return kind == BYTES ? UNITS_BYTES : kind == TIME ? UNITS_TIME : UNITS_NONE;
}

static const char *expected(enum kind kind) {
    if (kind == BYTES) return "a size such as 512MiB";
    return kind == TIME ? "a time with its unit, such as 30s" : "a whole number";
}

static int out_of_range(const struct option *o, const char *value, char *why) {
    char least[40], most[32];

    units_print(units_of(o->kind), o->least, least, sizeof(least));
    units_print(units_of(o->kind), o->most, most, sizeof(most));
    if (o->kind == SIGNED) snprintf(least, sizeof(least), "-%s", most);
    if (o->kind == TIME) snprintf(most, sizeof(most), "%llu years", JOB_NS_MAX / NS_A_YEAR);
    return bad(why, "%s: %.40s is out of range: %s to %s", o->variable, value, least, most);
}

static int set_number(struct wire_job *job, const struct option *o, const char *value, char *why) {
    bool negative = o->kind == SIGNED && *value == '-';
    char *field = (char *)job + o->offset;
    uint64_t n;
    int err = units_parse(units_of(o->kind), value + negative, &n);

    if (err == -EINVAL)
        return bad(why, "%s: '%.40s' is not %s", o->variable, value, expected(o->kind));
    if (err < 0 || n < o->least || n > o->most) return out_of_range(o, value, why);
    if (negative) n = -n;
    memcpy(field, &n, o->bytes); /* little-endian, like the wire */
    if (o->kind == BYTES) job->flags |= WIRE_JOB_RESERVED;
    return 0;
}

static int set(struct wire_job *job, const struct option *o, const char *value, char *why) {
    switch (o->kind) {
    case TEXT: return set_group(job, o->variable, value, why);
    case CAPABILITY: return set_capability(job, o->variable, value, why);
    case SLO_OF: return set_slo_of(job, o->variable, value, why);
    case MODE: return set_mode(job, o->variable, value, why);
    case SWITCH: return set_switch(job, o, value, why);
    default: return set_number(job, o, value, why);
    }
}

int job_set(struct wire_job *job, const char *variable, const char *value, char *why) {
    for (size_t i = 0; i < OPTIONS; i++)
        if (strcmp(options[i].variable, variable) == 0) return set(job, &options[i], value, why);
    return -ENOENT;
}

int job_from_environment(struct wire_job *job, char *why) {
    char reason[JOB_WHY_BYTES];
    int wrong = 0;

    memset(job, 0, sizeof(*job));
    for (size_t i = 0; i < OPTIONS; i++) {
        const char *value = getenv(options[i].variable);

        if (!value || !*value || job_set(job, options[i].variable, value, reason) == 0) continue;
        if (wrong++ == 0) memcpy(why, reason, sizeof(reason));
    }
    return wrong;
}

void job_tag(char *name, size_t cap) {
    size_t n = strnlen(name, cap), most = cap - sizeof(" " JOB_TAG);

    snprintf(name + (n < most ? n : most), sizeof(" " JOB_TAG), " " JOB_TAG);
}
