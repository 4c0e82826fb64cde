/* SPDX-License-Identifier: Apache-2.0
 *
 * Spans, and their output as trace events.
 */
#include "daemon/sim/report/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_GAP_NS 1000

int timeline_init(struct timeline *t, uint32_t jobs, uint32_t max_spans) {
    *t = (struct timeline){.jobs = jobs, .max_spans = max_spans};
    t->spans = malloc(max_spans * sizeof(*t->spans));
    t->last = malloc((jobs + 1u) * sizeof(*t->last));
    if (!t->spans || !t->last) {
        timeline_finish(t);
        return -ENOMEM;
    }
    memset(t->last, 0xff, (jobs + 1u) * sizeof(*t->last));
    return 0;
}

void timeline_finish(struct timeline *t) {
    free(t->spans);
    free(t->last);
    *t = (struct timeline){0};
}

/* Extends the job's latest span or adds a new one. Returns false if there is no space. */
static bool add(struct timeline *t, const struct timeline_span *s) {
    uint32_t last = t->last[s->job];
    if (last != UINT32_MAX && t->spans[last].lane == s->lane &&
        s->start_ns - t->spans[last].end_ns <= t->gap_ns) {
        t->spans[last].end_ns = s->end_ns;
        t->spans[last].ran_ns += s->ran_ns;
        t->spans[last].iterations += s->iterations;
        return true;
    }
    if (t->count == t->max_spans) return false;
    t->last[s->job] = t->count;
    t->spans[t->count++] = *s;
    return true;
}

/* Doubles the gap and merges all spans again, at most 63 times in a timeline's life. If there are
 * more jobs and lanes than slots, the excess is dropped. */
static void compact(struct timeline *t) {
    uint32_t count = t->count;
    t->gap_ns = t->gap_ns ? 2 * t->gap_ns : FIRST_GAP_NS;
    t->count = 0;
    memset(t->last, 0xff, (t->jobs + 1u) * sizeof(*t->last));
    for (uint32_t i = 0; i < count; i++) {
        /* Copied, because the merged span is written to this slot or an earlier one. */
        struct timeline_span s = t->spans[i];
        add(t, &s);
    }
}

void timeline_ran(void *timeline, uint32_t job, uint32_t lane, uint64_t start_ns, uint64_t end_ns) {
    struct timeline *t = timeline;
    struct timeline_span s = {start_ns, end_ns, end_ns - start_ns, job, lane, 1};
    while (!add(t, &s) && t->gap_ns < UINT64_MAX / 4)
        compact(t);
}

/* Prints microseconds with three decimals. */
static void print_us(const char *name, uint64_t ns, FILE *out) {
    fprintf(out, ",\"%s\":%" PRIu64 ".%03u", name, ns / 1000, (unsigned)(ns % 1000));
}

void timeline_chrome(const struct timeline *t, const struct workload *w, const struct sim_result *r,
                     FILE *out) {
    fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", out);
    for (uint32_t i = 0; i < t->jobs; i++) {
        fprintf(
            out,
            "%s\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"args\":{\"name\":\"%s\"}}",
            i ? "," : "", i + 1, w->jobs[i].name);
        if (r->jobs[i].first_run_ns == SIM_NEVER) continue;
        fprintf(out, ",\n{\"ph\":\"X\",\"name\":\"waits\",\"pid\":%u,\"tid\":-1", i + 1);
        print_us("ts", w->jobs[i].arrival_ns, out);
        print_us("dur", r->jobs[i].first_run_ns - w->jobs[i].arrival_ns, out);
        fputc('}', out);
    }
    for (uint32_t i = 0; i < t->count; i++) {
        const struct timeline_span *s = &t->spans[i];
        fprintf(out, ",\n{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u", w->jobs[s->job].name,
                s->job + 1, s->lane);
        print_us("ts", s->start_ns, out);
        print_us("dur", s->end_ns - s->start_ns, out);
        fprintf(out, ",\"args\":{\"iterations\":%u", s->iterations);
        print_us("ran_us", s->ran_ns, out);
        fputs("}}", out);
    }
    fputs("\n]}\n", out);
}
