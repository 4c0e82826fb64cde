/* SPDX-License-Identifier: Apache-2.0
 *
 * Advances from one event to the next.
 */
#include "daemon/sim/place/fleet_run.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sim/place/fleet_act.h"
#include "daemon/sim/place/fleet_gather.h"
#include "daemon/sim/place/fleet_speed.h"
#include "daemon/sim/place/fleet_tally.h"

#define NS 1e9
#define NEVER INT64_MAX
#define LONGEST_NS 4000000000000000000 /* 126 years; longer work never ends */
#define HOLD_LEAST 0.01
#define STILL_MOST 10000u /* steps at one moment, in addition to one per job */

enum { STREAM_HOLD = 920 };

/* ---- a step ---------------------------------------------------------------------------------- */

/* Changes a job's speed. */
static int run_at(struct fleet *f, uint32_t job, double rate) {
    struct fleet_job *j = &f->jobs[job];
    uint32_t at = f->ends.place[job];
    if (j->doomed || (rate == j->rate && at != MINHEAP_NONE)) return 0;
    fleet_act_settle(f, job);
    j->rate = rate;
    double ns = rate > 0 ? ceil(j->left_s / rate * NS) : INFINITY;
    if (at != MINHEAP_NONE) minheap_remove(&f->ends, at, fleet_ends_before, f->jobs);
    if (ns < (double)LONGEST_NS) {
        j->end_ns = f->now_ns + (int64_t)ns;
        minheap_add(&f->ends, job, fleet_ends_before, f->jobs);
    }
    return fleet_gather_later(f, job);
}

/* Updates all GPUs with changes, and then each job on them once. */
static int refresh(struct fleet *f) {
    f->mark++;
    f->changed_count = 0;
    for (uint32_t i = 0; i < f->dirty_count; i++) {
        struct fleet_gpu *g = &f->gpus[f->dirty[i]];
        fleet_speed_of_gpu(f, f->dirty[i]);
        g->dirty = false;
        for (uint32_t at = g->first; at != FLEET_NONE; at = f->seats[at].next) {
            uint32_t job = f->seats[at].job;
            if (f->jobs[job].mark == f->mark) continue;
            f->jobs[job].mark = f->mark;
            f->changed[f->changed_count++] = job;
        }
    }
    f->dirty_count = 0;
    int err = 0;
    for (uint32_t i = 0; !err && i < f->changed_count; i++)
        err = run_at(f, f->changed[i], fleet_speed_of_job(f, f->changed[i]));
    return err;
}

static int step(struct fleet *f) {
    for (size_t i = 0; i < f->event_count; i++)
        if (f->events[i].kind == PLACE_JOB) f->events[i].job = &f->arrivals[i];
    int err = f->placer->step(f->placer->self, f->now_ns, f->events, f->event_count, &f->answer);
    f->event_count = 0;
    f->result->steps++;
    if (err) return err;
    if (f->answer.wrong_count)
        return fleet_fail(f, -EPROTO, "the placer refuses an event: %s", f->answer.wrong[0].why);
    err = fleet_act(f);
    return err ? err : refresh(f);
}

/* ---- the whole run --------------------------------------------------------------------------- */

static int64_t earlier(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t next_ns(const struct fleet *f) {
    int64_t at_ns = NEVER;
    if (f->next_arrival < f->set->job_count) at_ns = fleet_arrival_ns(f, f->next_arrival);
    if (f->ends.count) at_ns = earlier(at_ns, f->jobs[f->ends.items[0]].end_ns);
    if (f->measure_count) at_ns = earlier(at_ns, f->measures[f->measure_first].at_ns);
    at_ns = earlier(at_ns, f->answer.wake_ns);
    return at_ns > f->now_ns ? at_ns : f->now_ns;
}

/* Tests whether no job will arrive, waits or runs. */
static bool is_over(const struct fleet *f) {
    return f->next_arrival == f->set->job_count &&
           f->result->ended + f->result->refused == f->set->job_count;
}

static int run(struct fleet *f) {
    uint32_t still = 0;
    int err = 0;
    while (!err && !is_over(f)) {
        int64_t at_ns = next_ns(f);
        if (at_ns == NEVER) break;
        if (at_ns > LONGEST_NS)
            return fleet_fail(f, -EPROTO, "the simulated time exceeds 126 years");
        still = at_ns > f->now_ns ? 0 : still + 1;
        if (still > STILL_MOST + f->set->job_count)
            return fleet_fail(
                f, -EPROTO,
                "the simulated time does not advance: the placer asks to be woken without acting");
        err = fleet_tally_pass(f, at_ns);
        if (!err) err = fleet_gather_ends(f);
        if (!err) err = fleet_gather_measures(f);
        if (!err) err = fleet_gather_arrivals(f);
        if (!err && !f->event_count && !fleet_gather(f, PLACE_TIME, 0)) err = -ENOMEM;
        if (!err) err = step(f);
    }
    f->result->stranded = f->waiting;
    return err;
}

/* Reports all nodes as empty. */
static int begin(struct fleet *f) {
    struct place_gpu gpus[JOBSET_GPUS_A_NODE];
    struct place_node node;
    int err = 0;
    f->now_ns = f->begin_ns = f->last_end_ns = f->set->job_count ? fleet_arrival_ns(f, 0) : 0;
    for (uint32_t i = 0; !err && i < f->set->node_count; i++) {
        const struct jobset_node *n = &f->set->nodes[i];
        for (uint32_t k = 0; k < n->gpu_count; k++)
            gpus[k] = (struct place_gpu){.memory_bytes = n->gpu_bytes};
        node = (struct place_node){.id = i + 1,
                                   .cpu_milli = n->cpu_milli,
                                   .memory_bytes = n->memory_bytes,
                                   .labels = n->labels,
                                   .gpu_count = n->gpu_count,
                                   .gpus = gpus};
        struct place_event *e = fleet_gather(f, PLACE_NODE, i + 1);
        if (!e) return -ENOMEM;
        e->node = &node;
        err = step(f);
    }
    return err;
}

static int init(struct fleet *f) {
    uint32_t jobs = f->set->job_count + 1, gpus = f->set->gpu_count + 1;
    f->jobs = calloc(jobs, sizeof(*f->jobs));
    f->gpus = calloc(gpus, sizeof(*f->gpus));
    f->ends.items = malloc(jobs * sizeof(*f->ends.items));
    f->ends.place = malloc(jobs * sizeof(*f->ends.place));
    f->changed = malloc(jobs * sizeof(*f->changed));
    f->dirty = malloc(gpus * sizeof(*f->dirty));
    f->free_seat = FLEET_NONE;
    if (!f->jobs || !f->gpus || !f->ends.items || !f->ends.place || !f->changed || !f->dirty)
        return -ENOMEM;
    for (uint32_t i = 0; i < f->set->job_count; i++) {
        const struct jobset_job *j = &f->set->jobs[i];
        double off = f->rules->hold_error * jobset_normal(f->rules->seed, STREAM_HOLD, i);
        f->jobs[i].seats = FLEET_NONE;
        f->jobs[i].hold = fmax(HOLD_LEAST, j->slo * (1 + off));
        f->ends.place[i] = MINHEAP_NONE;
    }
    for (uint32_t i = 0; i < f->set->node_count; i++) {
        const struct jobset_node *n = &f->set->nodes[i];
        for (uint32_t k = 0; k < n->gpu_count; k++)
            f->gpus[n->first_gpu + k] =
                (struct fleet_gpu){.first = FLEET_NONE, .bytes = n->gpu_bytes, .slowed = 1};
    }
    return 0;
}

static void finish(struct fleet *f) {
    free(f->jobs);
    free(f->gpus);
    free(f->seats);
    free(f->ends.items);
    free(f->ends.place);
    free(f->dirty);
    free(f->changed);
    free(f->measures);
    free(f->events);
    free(f->arrivals);
}

int fleet_run(const struct jobset *set, const struct fleet_rules *rules,
              const struct fleet_placer *placer, struct fleet_result *out, char *why) {
    struct fleet f = {.set = set,
                      .rules = rules,
                      .placer = placer,
                      .result = out,
                      .why = why,
                      .answer = {.wake_ns = NEVER}};
    *out = (struct fleet_result){0};
    *why = '\0';
    int err = init(&f);
    if (!err) err = begin(&f);
    if (!err) err = run(&f);
    if (!err) err = fleet_tally_all(&f);
    finish(&f);
    if (err == -ENOMEM) fleet_fail(&f, err, "out of memory");
    if (err) fleet_result_finish(out);
    return err;
}

void fleet_result_finish(struct fleet_result *r) {
    free(r->days);
    r->days = NULL;
    r->day_count = 0;
}
