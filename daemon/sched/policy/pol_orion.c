/* SPDX-License-Identifier: Apache-2.0
 *
 * Orion, Listing 1 and its text (sections 5.1.1 and 5.1.2), for any number of jobs of both classes.
 * Where the listing and the text differ, the text is followed:
 *
 *   hp_task_running  an operation of a high-priority job is on the device; op_hp is the kernel that
 *                    the device executes then, not the one sent last
 *   be_duration      the expected time of the best-effort kernels on the device ("submitted but not
 *                    yet completed"), so that `finished()` subtracts what ended; memory operations
 *                    are never held back, and no job is synchronised
 */
#include "daemon/sched/policy/policy.h"
#include "daemon/sched/policy/tune.h"

#define GAP_MILLI 100 /* thousandths of an iteration: a shorter gap is no pause */
#define STEADY 32     /* iterations without a pause that a queue of requests does not reach */

struct orion {
    struct tune tune;
    uint32_t steady; /* iterations of high-priority jobs since the latest pause */
};

/* Line 12: "be_duration > DUR_THRESHOLD", a part of the request's latency alone. While that latency
 * is unknown the threshold is 0: one best-effort kernel at a time. */
static bool throttled(const struct sched_state *st) {
    const struct classes *c = &st->classes;
    uint64_t most_ns = c->request_ns / 1000 * st->config->dur_threshold;
    if (c->high_count == 0) return false;
    return most_ns == 0 ? c->kernels > 0 : c->outstanding_ns > most_ns;
}

static uint32_t sm_threshold(const struct sched_state *st) {
    const struct orion *o = st->own.policy;
    if (st->config->sm_threshold) return st->config->sm_threshold;
    if (o->steady < STEADY) return st->sms;
    return o->tune.value || o->tune.low ? o->tune.value : st->sms;
}

/* "Kernels with unknown resource profiles tend to be very short-running, hence Orion optimistically
 * allows these kernels to execute with compute or memory-bound kernels." */
static bool opposite(const struct sched_kernel *high, const struct sched_kernel *best) {
    return high->class == SCHED_CLASS_UNKNOWN || best->class == SCHED_CLASS_UNKNOWN ||
           high->class != best->class;
}

/* Listing 1, lines 23 to 30. */
static bool schedule_be(const struct sched_state *st, const struct sched_kernel *best) {
    const struct classes *c = &st->classes;
    if (c->running[CLASS_HIGH] == 0) return true;
    uint64_t used = st->config->add_sizes ? c->sms : 0;
    if (st->config->by_size && best->sms + used >= sm_threshold(st)) return false;
    for (uint32_t i = 0; st->config->by_class && i < c->high_count; i++) {
        const struct sched_op *high = state_device_kernel(st, c->high[i]);
        if (high && !opposite(&high->kernel, best)) return false;
    }
    return true;
}

static bool may(const struct sched_state *st, uint32_t op) {
    return !throttled(st) && schedule_be(st, &st->ops[op].kernel);
}

/* ---- SM_THRESHOLD ---------------------------------------------------------------------------- */

static void submitted(const struct sched_state *st, uint32_t op) {
    struct orion *o = st->own.policy;
    const struct sched_op *w = &st->ops[op];
    if (state_kernel(w) && !state_high(&st->jobs[w->job])) tune_saw(&o->tune, w->kernel.sms);
}

/* Evaluates a completed iteration of a "throughput-oriented job, such as training". For jobs that
 * pause between requests, the threshold stays at the device's SMs. */
static void iterated(const struct sched_state *st, uint32_t job) {
    struct orion *o = st->own.policy;
    const struct sched_job *j = &st->jobs[job];
    uint64_t alone_ns = state_request_ns(j);
    if (!state_high(j)) return;
    bool paused = j->gap_ns >= j->request_ns / 1000 * GAP_MILLI;
    o->steady = paused ? 0 : o->steady + (o->steady < STEADY);
    if (o->steady == STEADY && alone_ns)
        tune_iteration(&o->tune, j->request_ns, alone_ns, st->config->train_limit);
}

const struct policy pol_orion = {
    .name = "orion",
    .priorities = true,
    .classes = true,
    .own_bytes = sizeof(struct orion),
    .may = may,
    .submitted = submitted,
    .iterated = iterated,
    .sm_threshold = sm_threshold,
};
