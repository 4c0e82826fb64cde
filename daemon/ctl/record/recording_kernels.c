/* SPDX-License-Identifier: Apache-2.0
 *
 * A sequence contains only numbers and words of ours, never the job's names of kernels.
 */
#include "daemon/ctl/record/recording_kernels.h"

#include <inttypes.h>

#include "common/text/units.h"

/* Limits as in docs/workload.md. */
#define MOST_SMS 100000000u
#define MOST_SEQUENCE_NS (1000ull * 3600000000000ull)

static uint64_t at_most(uint64_t value, uint64_t most) {
    return value > most ? most : value;
}

static void print_time(const char *before, uint64_t ns, FILE *out) {
    char text[40];

    units_print(UNITS_TIME, ns, text, sizeof(text));
    fprintf(out, "%s%s", before, text);
}

static void write_host(bool waits, uint64_t ns, FILE *out) {
    if (waits) fputs("w\n", out);
    if (ns == 0) return;
    print_time("h ", ns, out);
    fputc('\n', out);
}

static void print_part(const char *key, uint32_t milli, FILE *out) {
    if (milli >= 1000)
        fprintf(out, " %s=1", key);
    else
        fprintf(out, " %s=0.%03" PRIu32, key, milli);
}

/* Writes an operation. `first`: the first of a request, whose preceding host time is part of the
 * job's think time. */
static void write_op(const struct kernel_trace_op *op, bool first, uint32_t use_milli, FILE *out) {
    const char *class = op->class == 'c' ? "compute" : op->class == 'm' ? "memory" : "unknown";
    uint64_t host_ns;
    bool waits = kernel_trace_waits(op, &host_ns);

    if (!first) write_host(waits, host_ns, out);
    print_time(op->copy ? "c " : "k ", kernel_trace_alone_ns(op), out);
    if (!op->copy) {
        fprintf(out, " sms=%" PRIu64 " class=%s", op->sms ? at_most(op->sms, MOST_SMS) : 1, class);
        if (op->compute_milli) print_part("compute", op->compute_milli, out);
        if (op->memory_milli) print_part("memory", op->memory_milli, out);
    }
    if (use_milli < 1000) print_part("use", use_milli, out);
    fputc('\n', out);
}

/* Percentage of the measurements of a sequence in which the job had the device to itself. */
static uint64_t alone_percent(const struct kernel_trace_shape *s) {
    uint64_t alone = 0, all = 0;

    for (uint32_t i = 0; i < s->count; i++) {
        alone += s->ops[i].alone;
        all += s->ops[i].count;
    }
    return all ? alone * 100 / all : 0;
}

uint64_t recording_kernels_ns(const struct kernel_trace *t, uint64_t id, bool requests) {
    const struct kernel_trace_job *j = kernel_trace_find(t, id);
    const struct kernel_trace_shape *s = j ? kernel_trace_usual(j) : NULL;
    uint64_t device_ns = 0, host_ns = 0,
             ns; /* no overflow: at most 20,000 operations of an hour each */

    if (!s) return UINT64_MAX;
    for (uint32_t i = 0; i < s->count; i++) {
        device_ns += kernel_trace_alone_ns(&s->ops[i]);
        kernel_trace_waits(&s->ops[i], &ns);
        if (i || !requests) host_ns += ns;
    }
    if (!requests) host_ns += kernel_trace_whole_ns(s->tail_ns / s->iterations);
    return device_ns > MOST_SEQUENCE_NS || host_ns > MOST_SEQUENCE_NS ? UINT64_MAX
                                                                      : device_ns + host_ns;
}

bool recording_kernels_write(const struct kernel_trace *t, bool soft, uint64_t id, bool whole,
                             bool requests, uint32_t *lines, FILE *out) {
    const struct kernel_trace_job *j = kernel_trace_find(t, id);
    const struct kernel_trace_shape *s = j ? kernel_trace_usual(j) : NULL;

    if (!s || (!whole && j->boundaries) || s->count > RECORDING_KERNELS_LINES - *lines)
        return false;
    *lines += s->count;
    fprintf(out,
            "# sequence of %" PRIu32 " of %" PRIu32 " iterations; %" PRIu64
            " %% of the times were measured while the job was alone on the device\n",
            s->iterations, j->iterations, alone_percent(s));
    fprintf(out, "kernels name=job%" PRIu64 "\n", id);
    for (uint32_t i = 0; i < s->count; i++)
        write_op(&s->ops[i], requests && i == 0, soft ? kernel_trace_use_milli(j) : 1000, out);
    if (!requests) write_host(false, kernel_trace_whole_ns(s->tail_ns / s->iterations), out);
    return true;
}

static uint64_t beyond(uint64_t from_ns, uint64_t to_ns, double less_ns) {
    double ns = to_ns > from_ns ? (double)(to_ns - from_ns) - less_ns : 0;
    return kernel_trace_whole_ns(ns);
}

/* Time that the job stays after its last iteration: from that iteration's end if known, else from
 * its usual duration. Iterations delayed by other programs tell nothing about the last one. */
static uint64_t finish_of(const struct kernel_trace_job *j) {
    const struct kernel_trace_shape *s = kernel_trace_usual(j);

    if (!j->boundaries) return beyond(j->ended_ns, j->left_ns, 0);
    if (!j->last_iteration_ns)
        return beyond(j->last_boundary_ns, j->left_ns, s->wall_ns / s->iterations);
    return beyond(j->last_iteration_ns, j->left_ns, s->tail_ns / s->iterations);
}

static bool prepares(const struct kernel_trace_job *j) {
    const struct kernel_trace_shape *s = kernel_trace_usual(j);
    return s && j->admitted_ns && j->boundaries && j->before < s->count;
}

bool recording_kernels_prepares(const struct kernel_trace *t, uint64_t id) {
    const struct kernel_trace_job *j = kernel_trace_find(t, id);
    return j && prepares(j);
}

/* Writes the times before the first iteration and after the last one, each if that end was seen. */
static void print_around(const struct kernel_trace_job *j, FILE *out) {
    const struct kernel_trace_shape *s = kernel_trace_usual(j);
    double usual_ns = prepares(j) ? 0 : s->wall_ns / s->iterations;
    uint64_t start_ns = j->boundaries ? beyond(j->admitted_ns, j->first_boundary_ns, usual_ns)
                                      : beyond(j->admitted_ns, j->first_ns, 0);

    if (j->admitted_ns) print_time(" start=", start_ns, out);
    if (j->left_ns) print_time(" finish=", finish_of(j), out);
}

void recording_kernels_job(const struct kernel_trace *t, uint64_t id, bool requests, FILE *out) {
    const struct kernel_trace_job *j = kernel_trace_find(t, id);
    double mean = j->thinks ? j->think_ns / j->thinks : 0;
    double variance = j->thinks ? j->think_squares / j->thinks - mean * mean : 0;
    bool random = variance > mean * mean / 4; /* the standard deviation exceeds half the mean */

    fprintf(out, " kernels=job%" PRIu64, id);
    if (!requests)
        print_around(j, out);
    else if (mean >= 1)
        print_time(random ? " think=exp(" : " think=", kernel_trace_whole_ns(mean), out);
    if (requests && mean >= 1 && random) fputc(')', out);
}
