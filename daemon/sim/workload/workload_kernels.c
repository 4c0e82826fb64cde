/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses the sections of workload files: `kernels`, sequences of kernels and copies; and `gaps`,
 * traces of gaps between arrivals. Resolves the names that jobs use.
 */
#include "daemon/sim/workload/workload_kernels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sim/base/quantity.h"

/* ---- lines ----------------------------------------------------------------------------------- */

static int take_sequence(struct parser *p, char *rest) {
    struct workload *w = p->w;
    uint32_t seen;
    p->section = SECTION_KERNELS;
    if (w->sequences_count == WORKLOAD_MAX_SEQUENCES) {
        parser_fault(p, "the workload has more than %u sequences", WORKLOAD_MAX_SEQUENCES);
        return -E2BIG;
    }
    if (parser_room((void **)&w->sequences, sizeof(*w->sequences), w->sequences_count,
                    &p->sequences_cap))
        return -ENOMEM;
    struct workload_sequence *q = &w->sequences[w->sequences_count++];
    *q = (struct workload_sequence){.first = w->kernels_count, .line = p->line};
    return parser_pairs(p, &workload_keys_name, rest, &q->name, &seen);
}

static int take_gaps(struct parser *p, char *rest) {
    struct workload *w = p->w;
    uint32_t seen;
    p->section = SECTION_GAPS;
    if (w->gaps_count == WORKLOAD_MAX_SEQUENCES) {
        parser_fault(p, "the workload has more than %u traces of gaps", WORKLOAD_MAX_SEQUENCES);
        return -E2BIG;
    }
    if (parser_room((void **)&w->gaps, sizeof(*w->gaps), w->gaps_count, &p->gaps_cap))
        return -ENOMEM;
    struct workload_gaps *g = &w->gaps[w->gaps_count++];
    *g = (struct workload_gaps){.first = w->gap_count, .line = p->line};
    return parser_pairs(p, &workload_keys_name, rest, &g->name, &seen);
}

static bool take_time(struct parser *p, const char *text, uint64_t max, const char *expected,
                      uint64_t *out) {
    if (text && quantity_parse(QUANTITY_TIME, text, out) == 0 && *out >= 1 && *out <= max)
        return true;
    parser_fault(p, "'%.60s' is not %s", text ? text : "", expected);
    return false;
}

/* Parses "h TIME" or "w": the client's work before the operation of the next line. */
static int take_host(struct parser *p, bool waits, char *rest) {
    uint64_t ns = 0;
    if (p->section != SECTION_KERNELS) {
        parser_fault(p, "host time outside a sequence: begin one with `kernels name=...`");
        return 0;
    }
    if (!waits && !take_time(p, strtok_r(rest, " \t", &rest), WORKLOAD_MAX_KERNEL_NS,
                             "a time from 1ns to 1h", &ns))
        return 0;
    if (strtok_r(rest, " \t", &rest)) parser_fault(p, "the line has words after the time");
    struct workload_sequence *q = &p->w->sequences[p->w->sequences_count - 1];
    p->host_waits |= waits;
    p->host_ns += ns;
    q->host_ns += ns;
    if (q->host_ns > WORKLOAD_MAX_TIME_NS) {
        parser_fault(p, "the host time so far is more than 1000 h");
        q->host_ns = p->host_ns = 0;
    }
    return 0;
}

/* Stores the host time after the last operation of the sequence that ends here. */
static void take_tail(struct parser *p) {
    if (p->section == SECTION_KERNELS)
        p->w->sequences[p->w->sequences_count - 1].tail_ns = p->host_ns;
    p->host_ns = 0;
    p->host_waits = false;
}

/* Parses "k DURATION key=value...", or the same with c. */
static int take_kernel(struct parser *p, bool copy, char *rest) {
    struct workload *w = p->w;
    uint32_t seen;
    if (p->section != SECTION_KERNELS) {
        parser_fault(p, "a kernel outside a sequence: begin one with `kernels name=...`");
        return 0;
    }
    if (parser_room((void **)&w->kernels, sizeof(*w->kernels), w->kernels_count, &p->kernels_cap))
        return -ENOMEM;
    struct workload_kernel *k = &w->kernels[w->kernels_count++];
    *k = (struct workload_kernel){
        .copy = copy, .duration_ns = 1, .host_ns = p->host_ns, .waits = p->host_waits};
    p->host_ns = 0;
    p->host_waits = false;
    struct workload_sequence *q = &w->sequences[w->sequences_count - 1];
    q->count++;
    take_time(p, strtok_r(rest, " \t", &rest), WORKLOAD_MAX_KERNEL_NS, "a time from 1ns to 1h",
              &k->duration_ns);
    q->total_ns += k->duration_ns;
    if (q->total_ns > WORKLOAD_MAX_TIME_NS) {
        parser_fault(p, "the sequence so far takes more than 1000 h");
        q->total_ns = 0;
    }
    return parser_pairs(p, copy ? &workload_keys_copy : &workload_keys_kernel, rest, k, &seen);
}

static int take_times(struct parser *p, const char *word, char *rest) {
    struct workload *w = p->w;
    for (; word; word = strtok_r(rest, " \t", &rest)) {
        uint64_t ns;
        if (!take_time(p, word, WORKLOAD_MAX_TIME_NS, "a time from 1ns to 1000h", &ns)) return 0;
        if (parser_room((void **)&w->gap_ns, sizeof(*w->gap_ns), w->gap_count, &p->gap_cap))
            return -ENOMEM;
        w->gap_ns[w->gap_count++] = ns;
        w->gaps[w->gaps_count - 1].count++;
    }
    return 0;
}

int workload_kernels_line(struct parser *p, const char *word, char *rest, bool *taken) {
    *taken = true;
    if (strcmp(word, "h") == 0 || strcmp(word, "w") == 0) return take_host(p, *word == 'w', rest);
    if (strcmp(word, "k") != 0 && strcmp(word, "c") != 0) take_tail(p);
    if (strcmp(word, "kernels") == 0) return take_sequence(p, rest);
    if (strcmp(word, "gaps") == 0) return take_gaps(p, rest);
    if (strcmp(word, "k") == 0 || strcmp(word, "c") == 0) return take_kernel(p, *word == 'c', rest);
    if (p->section == SECTION_GAPS && *word >= '0' && *word <= '9')
        return take_times(p, word, rest);
    *taken = false;
    return 0;
}

/* ---- after the last line --------------------------------------------------------------------- */

static void end_sequence(struct parser *p, uint32_t n) {
    struct workload *w = p->w;
    struct workload_sequence *q = &w->sequences[n];
    p->line = q->line;
    if (!q->name) return; /* reported already */
    if (q->count == 0) parser_fault(p, "kernels: %s is empty", q->name);
    for (uint32_t i = 0; i < n; i++)
        if (w->sequences[i].name && strcmp(w->sequences[i].name, q->name) == 0)
            parser_fault(p, "kernels: the sequence '%s' is given twice", q->name);
}

static void end_gaps(struct parser *p, uint32_t n) {
    struct workload *w = p->w;
    struct workload_gaps *g = &w->gaps[n];
    p->line = g->line;
    if (!g->name) return;
    if (g->count == 0) parser_fault(p, "gaps: %s is empty", g->name);
    for (uint32_t i = 0; i < n; i++)
        if (w->gaps[i].name && strcmp(w->gaps[i].name, g->name) == 0)
            parser_fault(p, "gaps: the trace '%s' is given twice", g->name);
}

static void resolve_sequence(struct parser *p, const struct workload_job *j, const char *key,
                             const char *name, uint32_t *out) {
    const struct workload *w = p->w;
    while (*out < w->sequences_count &&
           (!w->sequences[*out].name || strcmp(w->sequences[*out].name, name) != 0))
        ++*out;
    if (*out == w->sequences_count)
        parser_fault(p, "%s: there is no sequence '%.60s'", key, name);
    else
        parser_bound(p,
                     w->sequences[*out].total_ns + w->sequences[*out].host_ns +
                         j->launch_ns * w->sequences[*out].count,
                     j->iterations);
}

static void resolve_job(struct parser *p, struct workload_job *j) {
    const struct workload *w = p->w;
    p->line = j->line;
    resolve_sequence(p, j, "kernels", j->kernels, &j->sequence);
    if (j->burst) resolve_sequence(p, j, "burst", j->burst, &j->burst_sequence);
    if (!j->gaps_name) return;
    while (j->gaps < w->gaps_count &&
           (!w->gaps[j->gaps].name || strcmp(w->gaps[j->gaps].name, j->gaps_name) != 0))
        j->gaps++;
    if (j->gaps == w->gaps_count)
        parser_fault(p, "every: there is no trace of gaps '%.60s'", j->gaps_name);
}

static void resolve_jobs(struct parser *p) {
    struct workload *w = p->w;
    uint32_t of_kernels = 0, others = 0;
    for (uint32_t i = 0; i < w->count && p->faults < WORKLOAD_MAX_ERRORS; i++) {
        struct workload_job *j = &w->jobs[i];
        if (!j->line) continue;
        p->line = j->line;
        *(j->kernels ? &of_kernels : &others) += 1;
        if (of_kernels && others)
            parser_fault(p,
                         "jobs with kernels= and jobs with iteration= cannot be in one workload");
        if (of_kernels == WORKLOAD_MAX_KERNEL_JOBS + 1)
            parser_fault(
                p, "the workload has more than %u jobs with kernels=", WORKLOAD_MAX_KERNEL_JOBS);
        if (j->kernels) resolve_job(p, j);
        if (!j->iterations && !w->until_ns)
            parser_fault(
                p,
                "iterations is missing: give it, or an end of the run with until= of the device");
    }
}

void workload_kernels_end(struct parser *p) {
    take_tail(p);
    for (uint32_t i = 0; i < p->w->sequences_count; i++)
        end_sequence(p, i);
    for (uint32_t i = 0; i < p->w->gaps_count; i++)
        end_gaps(p, i);
    resolve_jobs(p);
    workload_profile(p->w);
}
