/* SPDX-License-Identifier: Apache-2.0
 *
 * Admission by predicted delay. Orion asks whether two kernels need opposite units; that says
 * nothing of how much, nor of the kernels that come next. Here a best-effort kernel goes beside a
 * high-priority request when the time by which it will delay it, reckoned from what both need over
 * the high-priority kernels that are still to come, fits into what the request may lose: `slack` of
 * its time alone.
 *
 *   sequence    the kernels of a job's iteration are nearly those of the one before (look-ahead)
 *   slots       a kernel that begins while a best-effort wave holds SMs that it needs, waits for
 *               the end of that wave: with the device's priorities for no more than a wave
 *   units       two kernels that use a unit share it max-min, and something is lost to contention
 *   account     each request starts with its slack; what is on the device when it arrives, and
 *               every kernel let through later, is charged with what it is reckoned to cost
 *
 * While no request is there, best-effort kernels go until those on the device would hold its SMs,
 * by the tail of their durations, longer than `dur_threshold` of a request: only the wave that a
 * stream is at can delay what arrives, not the kernels queued behind it.
 */
#include "daemon/sched/gate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLACK_STEPS 8192u /* of an iteration that are remembered */
/* Slots and unit capacity when several kernels run, in thousandths: Orion's Table 2 (see
 * docs/scheduling.md, "Contention"). */
#define SLACK_SLOTS 1140u
#define SLACK_LEFT 868u
/* A stream gets its next kernel so long before it runs dry: some launches' time. */
#define SLACK_LATE 50u
#define SLACK_LEAD_NS 20000u

/* What a kernel takes of the device, in thousandths, and for how long. */
struct slack_use {
    uint64_t ns, wave_ns;
    uint32_t slots, compute, memory;
};

struct slack_job {
    struct slack_use *steps; /* the latest iteration's kernels; [cap] */
    uint32_t cap, count;     /* known of a whole iteration */
    uint32_t started, ended; /* kernels of the current one */
    uint32_t iteration;
    uint64_t since_ns; /* when the device came to the kernel it is at */
    uint64_t spent_ns; /* of the request's slack */
    uint64_t until_ns; /* best-effort: when what it has on the device will be over */
    uint32_t prompt;   /* thousandths of the latest requests that came without a pause, a mean */
    bool open;         /* a request is there */
    bool late;         /* it waited behind another one */
};

struct slack {
    struct gate gate; /* first */
    struct slack_job *jobs;
    uint32_t cap;
    struct slack_use best; /* sums over the best-effort kernels on the device */
};

/* ---- what kernels use -------------------------------------------------------------------------
 */

/* Utilisations that are not known are typical of the class (Orion, section 3.2). */
static void slack_units(struct slack_use *u, const struct sched_kernel *k) {
    u->compute = k->compute_milli;
    u->memory = k->memory_milli;
    if (u->compute || u->memory) return;
    uint32_t part = u->slots, busy = part < 400 ? part * 1000 / 400 : 1000;
    switch (k->class) {
    case SCHED_CLASS_COMPUTE:
        u->compute = 890 * part / 1000;
        u->memory = 200 * part / 1000;
        break;
    case SCHED_CLASS_MEMORY:
        u->compute = 140 * busy / 1000;
        u->memory = 800 * busy / 1000;
        break;
    default: u->compute = u->memory = 300 * part / 1000;
    }
}

static struct slack_use slack_use(const struct sched_state *st, const struct sched_kernel *k,
                                  uint64_t ns) {
    uint32_t filled = (uint32_t)((uint64_t)k->sms * 1000 / st->sms);
    struct slack_use u = {.ns = ns, .slots = filled < 1000 ? filled : 1000};
    uint64_t tail_ns = k->tail_ns ? k->tail_ns : ns;
    u.wave_ns = filled > 1000 ? tail_ns * 1000 / filled : tail_ns;
    slack_units(&u, k);
    return u;
}

/* Max-min of two in a unit of which `use` and `other` would be used: the first one's speed. */
static uint32_t slack_speed(uint32_t use, uint32_t other) {
    if (use + other <= SLACK_LEFT) return 1000;
    uint32_t half = SLACK_LEFT / 2, rest = other < half ? SLACK_LEFT - other : half;
    return use <= rest ? 1000 : rest * 1000 / use;
}

/* By how much `high`, of which `ns` are left, is delayed beside `best` for that long. */
static uint64_t slack_shared(const struct slack_use *high, uint64_t ns,
                             const struct slack_use *best) {
    uint32_t a = slack_speed(high->compute, best->compute);
    uint32_t b = slack_speed(high->memory, best->memory), speed = a < b ? a : b;
    return ns * 1000 / speed - ns;
}

/* By how much `high`, which begins now, is delayed when `best` holds slots for `wave_ns` more. */
static uint64_t slack_waits(const struct slack_use *high, const struct slack_use *best,
                            uint64_t wave_ns) {
    uint32_t free = best->slots < SLACK_SLOTS ? SLACK_SLOTS - best->slots : 0;
    if (high->slots <= free) return 0;
    uint64_t part = (uint64_t)free * 1000 / high->slots; /* that it has until the wave's end */
    uint64_t waits = wave_ns * (1000 - part) / 1000;
    if (part == 0) return waits;
    uint64_t slower = high->ns * 1000 / part - high->ns;
    return slower < waits ? slower : waits;
}

/* ---- the delay of a request --------------------------------------------------------------------
 */

/* Delay of the high-priority job's request if `best` begins now beside what is there. */
static uint64_t slack_delay(const struct slack *s, const struct sched_state *st, uint32_t job,
                            const struct slack_use *one) {
    const struct slack_job *j = &s->jobs[job];
    struct slack_use best = *one;
    uint64_t at = 0, delay = 0;
    uint32_t last = j->ended + st->choice->lookahead;
    best.slots += s->best.slots;
    best.compute += s->best.compute;
    best.memory += s->best.memory;
    if (best.slots > SLACK_SLOTS) best.slots = SLACK_SLOTS;
    for (uint32_t i = j->ended; i < j->count && i < last && at < one->ns; i++) {
        const struct slack_use *high = &j->steps[i];
        uint64_t left = high->ns, passed = st->now_ns - j->since_ns;
        if (i == j->ended) left = passed < left ? left - passed : 0;
        uint64_t both = left < one->ns - at ? left : one->ns - at;
        delay += slack_shared(high, both, &best);
        if (i > j->ended && at < one->wave_ns) delay += slack_waits(high, &best, one->wave_ns - at);
        at += left;
    }
    return delay;
}

static bool slack_fits(const struct slack *s, const struct sched_state *st, uint32_t op) {
    const struct sched_op *o = &st->ops[op];
    const struct gate *g = &s->gate;
    struct slack_use use = slack_use(st, o->kernel, gate_expected(st, o));
    for (uint32_t i = 0; i < g->high_count; i++) {
        const struct slack_job *j = &s->jobs[g->high[i]];
        uint64_t may = state_request_ns(&st->jobs[g->high[i]]) / 1000 * st->choice->slack;
        if (!j->open) continue;
        if (j->late) may = may / SLACK_LATE;
        if (j->count == 0) return false; /* nothing is known of it yet */
        if (j->ended < j->count &&
            s->best.slots + use.slots + j->steps[j->ended].slots > SLACK_SLOTS)
            return false;
        if (j->spent_ns + slack_delay(s, st, g->high[i], &use) > may) return false;
    }
    return true;
}

static bool slack_pass(const void *self, const struct sched_state *st, uint32_t op) {
    const struct slack *s = self;
    const struct gate *g = &s->gate;
    uint32_t job = st->ops[op].job;
    if (g->high_count == 0) return true;
    if (s->jobs[job].until_ns > st->now_ns + SLACK_LEAD_NS) return false;
    if (g->running[GATE_HIGH]) return slack_fits(s, st, op);
    return g->running[GATE_BEST] == st->jobs[job].running ||
           s->best.wave_ns <= g->request_ns / 1000 * st->choice->dur_threshold;
}

static uint64_t slack_wake(const void *self, const struct sched_state *st) {
    const struct slack *s = self;
    uint64_t at = SCHED_NEVER;
    uint32_t first = s->gate.turn[GATE_BEST], job = first;
    if (first == SCHED_NONE || s->gate.high_count == 0) return at;
    do {
        uint64_t ns = s->jobs[job].until_ns;
        if (ns > st->now_ns + SLACK_LEAD_NS && ns - SLACK_LEAD_NS < at) at = ns - SLACK_LEAD_NS;
        job = s->gate.slots[job].next;
    } while (job != first);
    return at;
}

static uint32_t slack_pick(void *self, const struct sched_state *st) {
    return gate_pick(self, st, slack_pass);
}

/* ---- hooks -------------------------------------------------------------------------------------
 */

static void slack_fini(void *self) {
    struct slack *s = self;
    for (uint32_t i = 0; i < s->cap; i++)
        free(s->jobs[i].steps);
    free(s->jobs);
    gate_fini(self);
}

static int slack_reserve(void *self, uint32_t jobs) {
    struct slack *s = self;
    if (jobs > s->cap) {
        struct slack_job *grown = realloc(s->jobs, jobs * sizeof(*grown));
        if (!grown) return -ENOMEM;
        memset(grown + s->cap, 0, (jobs - s->cap) * sizeof(*grown));
        s->jobs = grown;
        s->cap = jobs;
    }
    return gate_reserve(self, jobs);
}

static void slack_sum(struct slack *s, const struct sched_state *st, const struct sched_op *o,
                      bool more) {
    struct slack_use u = slack_use(st, o->kernel, o->cost_ns);
    uint32_t sign = more ? 1 : -1u;
    s->best.wave_ns += more ? u.wave_ns : -u.wave_ns;
    s->best.slots += sign * u.slots;
    s->best.compute += sign * u.compute;
    s->best.memory += sign * u.memory;
}

/* Remembers the kernel as the iteration's next; without memory what is known ends here. */
static void slack_learn(struct slack_job *j, const struct slack_use *use) {
    if (j->started < SLACK_STEPS && j->started == j->cap) {
        uint32_t cap = j->cap ? 2 * j->cap : 256;
        struct slack_use *grown = realloc(j->steps, cap * sizeof(*grown));
        if (!grown) return;
        j->steps = grown;
        j->cap = cap;
    }
    if (j->started < j->cap) j->steps[j->started] = *use;
    j->started++;
}

/* A request that came at the very end of the one before it waited, and is of those that make the
 * tail: it gets little. Of a job that never pauses that is no sign. */
static void slack_open(struct slack_job *j, const struct sched_state *st, uint32_t job) {
    const struct sched_job *r = &st->jobs[job];
    uint64_t gap_ns = r->request_at_ns - r->request_done_ns;
    bool prompt = gap_ns < r->request_ns / 100;
    j->prompt = j->prompt - j->prompt / 8 + (prompt ? 1000 / 8 : 0);
    j->late = prompt && j->prompt < 950;
}

static void slack_started(void *self, struct sched_state *st, uint32_t op) {
    struct slack *s = self;
    struct sched_op *o = &st->ops[op];
    struct slack_job *j = &s->jobs[o->job];
    if (s->gate.slots[o->job].class == GATE_BEST) {
        gate_started(self, st, op);
        if (!o->kernel) return;
        struct slack_use u = slack_use(st, o->kernel, o->cost_ns);
        for (uint32_t i = 0; i < s->gate.high_count; i++) {
            struct slack_job *h = &s->jobs[s->gate.high[i]];
            if (h->open) h->spent_ns += slack_delay(s, st, s->gate.high[i], &u);
        }
        slack_sum(s, st, o, true);
        j->until_ns = (j->until_ns > st->now_ns ? j->until_ns : st->now_ns) + o->cost_ns;
        return;
    }
    gate_started(self, st, op);
    if (!j->open) {
        j->open = true;
        j->spent_ns = 0;
        j->since_ns = st->now_ns;
        slack_open(j, st, o->job);
    }
    if (!o->kernel) return;
    struct slack_use u = slack_use(st, o->kernel, o->cost_ns);
    if (j->started == j->ended) j->since_ns = st->now_ns;
    slack_learn(j, &u);
}

static void slack_ended(void *self, const struct sched_state *st, uint32_t op) {
    struct slack *s = self;
    const struct sched_op *o = &st->ops[op];
    struct slack_job *j = &s->jobs[o->job];
    if (s->gate.slots[o->job].class == GATE_BEST) {
        if (o->kernel) slack_sum(s, st, o, false);
        j->until_ns = st->now_ns;
        for (uint32_t i = st->jobs[o->job].head[SCHED_RUNNING]; i != SCHED_NONE;
             i = st->ops[i].next)
            j->until_ns += st->ops[i].cost_ns;
    } else if (o->kernel) {
        j->ended++;
        j->since_ns = st->now_ns;
    }
    gate_ended(self, st, op);
}

static void slack_iterated(void *self, const struct sched_state *st, uint32_t job) {
    struct slack *s = self;
    struct slack_job *j = &s->jobs[job];
    j->count = j->started < j->cap ? j->started : j->cap;
    j->started = j->ended = 0;
    j->open = false;
    gate_iterated(self, st, job);
}

const struct policy pol_slack = {
    .name = "slack",
    .priorities = true,
    .priv_size = sizeof(struct slack),
    .init = gate_init,
    .fini = slack_fini,
    .reserve = slack_reserve,
    .enqueue = gate_moved,
    .dequeue = gate_moved,
    .started = slack_started,
    .ended = slack_ended,
    .turned = gate_turned,
    .iterated = slack_iterated,
    .pick = slack_pick,
    .wake = slack_wake,
    .check = gate_check,
};
