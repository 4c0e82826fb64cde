/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks jobs and converts them to demands.
 */
#include "daemon/place/state/demand.h"

#include <math.h>

#include "daemon/place/state/curve.h"

static bool within_0_to_1(double x) {
    return x > 0 && x <= 1; /* false for NaN */
}

static const char *size_fault(const struct place_job *job) {
    if (!job->tasks || !job->gpus)
        return "a job must have at least one task, and a task at least one GPU";
    if (job->gpus > PLACE_GPUS_A_NODE) return "a task has more GPUs than any node";
    if (job->tasks > PLACE_TASKS_MOST / job->gpus) return "a job has more than 65536 GPUs";
    return NULL;
}

static bool too_much(uint64_t bytes) {
    return bytes > DEMAND_BYTES_MOST;
}

const char *demand_fault(const struct place_job *job) {
    const char *why = size_fault(job);
    if (why) return why;
    if (!within_0_to_1(job->util)) return "the utilisation must be above 0 and at most 1";
    if (too_much(job->persistent_bytes) || too_much(job->ephemeral_bytes) ||
        too_much(job->memory_bytes))
        return "the memory must be at most 64 TiB";
    if (job->kind != PLACE_TRAINING && job->kind != PLACE_SERVICE)
        return "the job's kind is unknown";
    if (!(job->slack >= 0 && job->slack < INFINITY))
        return "the slack must be a number of 0 or more";
    return NULL;
}

const char *demand_measured_fault(const struct place_event *e) {
    if (e->util != 0 && !within_0_to_1(e->util))
        return "the utilisation must be above 0 and at most 1";
    if (too_much(e->persistent_bytes) || too_much(e->ephemeral_bytes))
        return "the memory must be at most 64 TiB";
    if (!(e->speed >= 0 && e->speed < INFINITY)) return "the speed must be a number of 0 or more";
    return NULL;
}

void demand_set_memory(struct demand *d, uint64_t persistent_bytes, uint64_t ephemeral_bytes,
                       enum place_memory memory) {
    bool lanes = memory == PLACE_MEMORY_LANES;
    d->persistent_bytes = persistent_bytes + (lanes ? 0 : ephemeral_bytes);
    d->ephemeral_bytes = lanes ? ephemeral_bytes : 0;
}

struct demand demand_of(const struct place_job *job, enum place_memory memory) {
    struct demand d = {.tasks = job->tasks,
                       .gpus = job->gpus,
                       .util_ppm = curve_ppm(job->util),
                       .cpu_milli = job->cpu_milli,
                       .memory_bytes = job->memory_bytes,
                       .labels = job->labels,
                       .kind = job->kind,
                       .slack = job->kind == PLACE_SERVICE ? job->slack : INFINITY,
                       .alone = job->alone};
    demand_set_memory(&d, job->persistent_bytes, job->ephemeral_bytes, memory);
    return d;
}

static uint64_t times(uint64_t bytes, double factor) {
    double more = ceil((double)bytes * factor);
    return more < (double)DEMAND_BYTES_MOST ? (uint64_t)more : DEMAND_BYTES_MOST;
}

void demand_grow(struct demand *d, double factor, uint64_t least_bytes) {
    d->persistent_bytes = times(d->persistent_bytes, factor);
    d->ephemeral_bytes = times(d->ephemeral_bytes, factor);
    uint64_t bytes = demand_bytes(d);
    if (bytes < least_bytes) d->persistent_bytes += least_bytes - bytes;
}

void demand_limit(struct demand *d, uint64_t most_bytes) {
    if (demand_bytes(d) <= most_bytes) return;
    if (d->ephemeral_bytes > most_bytes) d->ephemeral_bytes = most_bytes;
    d->persistent_bytes = most_bytes - d->ephemeral_bytes;
}

bool demand_includes(const struct demand *a, const struct demand *b) {
    return a->labels == b->labels && a->kind == b->kind && a->slack <= b->slack &&
           a->alone >= b->alone && a->tasks >= b->tasks && a->gpus >= b->gpus &&
           a->util_ppm >= b->util_ppm && a->cpu_milli >= b->cpu_milli &&
           a->memory_bytes >= b->memory_bytes && a->persistent_bytes >= b->persistent_bytes &&
           a->ephemeral_bytes >= b->ephemeral_bytes;
}
