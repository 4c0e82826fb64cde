/* SPDX-License-Identifier: Apache-2.0
 *
 * Collects the placer's events of one moment: ended jobs, measurements, arrivals.
 */
#include "daemon/sim/place/fleet_gather.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "daemon/sim/place/fleet_act.h"

#define NS 1e9
#define ROOM_FIRST 64u

struct place_event *fleet_gather(struct fleet *f, enum place_event_kind kind, uint64_t id) {
    if (f->event_count == f->event_room) {
        size_t more = f->event_room ? 2 * f->event_room : ROOM_FIRST;
        struct place_event *events = realloc(f->events, more * sizeof(*events));
        if (events) f->events = events;
        struct place_job *arrivals = realloc(f->arrivals, more * sizeof(*arrivals));
        if (arrivals) f->arrivals = arrivals;
        if (!events || !arrivals) return NULL;
        f->event_room = more;
    }
    struct place_event *e = &f->events[f->event_count++];
    *e = (struct place_event){.kind = kind, .id = id};
    return e;
}

int fleet_gather_ends(struct fleet *f) {
    while (f->ends.count && f->jobs[f->ends.items[0]].end_ns <= f->now_ns) {
        uint32_t job = f->ends.items[0];
        bool doomed = f->jobs[job].doomed;
        if (!fleet_gather(f, doomed ? PLACE_MEMORY : PLACE_GONE, job + 1)) return -ENOMEM;
        fleet_act_leave(f, job, doomed ? FLEET_WAITS : FLEET_ENDED);
        f->result->memory_ends += doomed;
    }
    return 0;
}

/* The utilisation that the placer should assume for a job. */
static double planned(const struct fleet *f, const struct jobset_job *j, double util) {
    return f->rules->plan_slo && j->service ? fmin(1, util / fmin(1, j->slo)) : util;
}

static int measure(struct fleet *f, uint32_t job) {
    const struct jobset_need *is = &f->set->jobs[job].is;
    struct fleet_job *j = &f->jobs[job];
    struct place_event *e = fleet_gather(f, PLACE_MEASURED, job + 1);
    if (!e) return -ENOMEM;
    if (f->rules->measure_speed) e->speed = j->rate;
    if (!f->rules->measure_needs || j->measured) return 0;
    e->util = planned(f, &f->set->jobs[job], is->util);
    e->persistent_bytes = is->persistent_bytes;
    e->ephemeral_bytes = is->ephemeral_bytes;
    j->measured = true;
    return 0;
}

int fleet_gather_measures(struct fleet *f) {
    int err = 0;
    while (!err && f->measure_count && f->measures[f->measure_first].at_ns <= f->now_ns) {
        struct fleet_measure *m = &f->measures[f->measure_first];
        struct fleet_job *j = &f->jobs[m->job];
        f->measure_first = (f->measure_first + 1) % f->measure_room;
        f->measure_count--;
        if (j->state != FLEET_RUNS || j->run != m->run || j->doomed) continue;
        j->pending = false;
        err = measure(f, m->job);
    }
    return err;
}

int64_t fleet_arrival_ns(const struct fleet *f, uint32_t job) {
    return (int64_t)(f->set->jobs[job].arrival_s * NS);
}

static struct place_job describe(const struct fleet *f, const struct jobset_job *j, uint64_t id) {
    return (struct place_job){.id = id,
                              .tasks = j->tasks,
                              .gpus = j->gpus,
                              .util = planned(f, j, j->told.util),
                              .persistent_bytes = j->told.persistent_bytes,
                              .ephemeral_bytes = j->told.ephemeral_bytes,
                              .cpu_milli = j->cpu_milli,
                              .memory_bytes = j->memory_bytes,
                              .labels = j->labels,
                              .kind = j->service ? PLACE_SERVICE : PLACE_TRAINING,
                              .slack = j->service ? fmax(0, j->slo - 1) : 0};
}

int fleet_gather_arrivals(struct fleet *f) {
    for (; f->next_arrival < f->set->job_count; f->next_arrival++) {
        uint32_t job = f->next_arrival;
        if (fleet_arrival_ns(f, job) > f->now_ns) return 0;
        if (!fleet_gather(f, PLACE_JOB, job + 1)) return -ENOMEM;
        f->arrivals[f->event_count - 1] = describe(f, &f->set->jobs[job], job + 1);
        f->jobs[job].state = FLEET_WAITS;
        f->jobs[job].since_ns = f->now_ns;
        f->waiting++;
    }
    return 0;
}

int fleet_gather_later(struct fleet *f, uint32_t job) {
    struct fleet_job *j = &f->jobs[job];
    if (!f->rules->measure_ns || j->pending || j->doomed) return 0;
    if (!f->rules->measure_speed && (!f->rules->measure_needs || j->measured)) return 0;
    if (f->measure_count == f->measure_room) {
        uint32_t old = f->measure_room, more = old ? 2 * old : ROOM_FIRST;
        struct fleet_measure *grown = malloc(more * sizeof(*grown));
        if (!grown) return -ENOMEM;
        for (uint32_t i = 0; i < old; i++)
            grown[i] = f->measures[(f->measure_first + i) % old];
        free(f->measures);
        f->measures = grown;
        f->measure_room = more;
        f->measure_first = 0;
    }
    f->measures[(f->measure_first + f->measure_count++) % f->measure_room] =
        (struct fleet_measure){f->now_ns + f->rules->measure_ns, job, j->run};
    j->pending = true;
    return 0;
}
