/* SPDX-License-Identifier: Apache-2.0
 *
 * The plain rule of the slack policy: checks for each best-effort job in turn whether its operation
 * may be launched.
 */
#include "test/lib/sched/slackscan.h"

#include "daemon/sched/policy/arrival.h"
#include "daemon/sched/policy/forecast.h"
#include "daemon/sched/policy/hold_budget.h"

#define LEAD_NS 10000u /* a stream has its next kernel this long before it runs dry */
#define HOST_NS 50000u /* longest time between two launches of a host that does not wait */
#define LATE_PART 50u  /* divisor of the slack of a late request */
/* A pause before a request that is shorter than this share of the request's time counts as none. */
#define PROMPT_MILLI 10
/* Share of a job's requests without a pause, above which none counts as late. */
#define STEADY_MILLI 950

struct job {
    struct forecast sequence;  /* high-priority job: the kernels of its request */
    struct forecast_use takes; /* best-effort job: the resources of its current kernel */
    uint64_t spent_ns;         /* part of the request's slack that is spent */
    uint64_t until_ns;         /* expected end of the job's work on the device */
    uint32_t prompt_milli;     /* moving mean of the share of requests that came without a pause */
    bool open;                 /* a request is open */
    bool late;
    struct arrival arrival;
};

struct slack {
    /* resources of the best-effort jobs' current kernels together; queued kernels use nothing
     * yet */
    struct forecast_use heads;
    struct hold_budget hold_budget;
};

static struct job *job_of(const struct sched_state *st, uint32_t job) {
    return (struct job *)st->own.jobs + job;
}

/* ---- work on the device
 * ------------------------------------------------------------------------ */

static struct forecast_use takes(const struct sched_state *st, uint32_t job) {
    const struct sched_op *o = state_device_kernel(st, job);
    if (!o || classes_of(&st->classes, job) == CLASS_HIGH) return (struct forecast_use){0};
    return forecast_use(&o->kernel, o->kernel.mean_ns, st->sms);
}

/* Updates the kernel of the job that the device may be executing. */
static void moved(const struct sched_state *st, uint32_t job) {
    struct slack *s = st->own.policy;
    struct forecast_use *old = &job_of(st, job)->takes, new = takes(st, job);
    s->heads.wave_ns += new.wave_ns - old->wave_ns;
    s->heads.slots += new.slots - old->slots;
    s->heads.compute += new.compute - old->compute;
    s->heads.memory += new.memory - old->memory;
    *old = new;
}

/* ---- whether a kernel may go -------------------------------------------------------------------
 */

/* True if a request is open and has work on the device, or its host is only between two
 * launches. */
static bool between(const struct sched_state *st, const struct job *j) {
    return j->open && forecast_more(&j->sequence) && st->now_ns < j->sequence.since_ns + HOST_NS;
}

static bool busy(const struct sched_state *st) {
    const struct classes *c = &st->classes;
    if (c->running[CLASS_HIGH]) return true;
    for (uint32_t i = 0; i < c->high_count; i++)
        if (between(st, job_of(st, c->high[i]))) return true;
    return false;
}

/* The time by which the kernel is expected to delay the job's request. */
static uint64_t delay_ns(const struct sched_state *st, const struct job *j,
                         const struct forecast_use *one) {
    const struct slack *s = st->own.policy;
    return forecast_delay(&j->sequence, st->now_ns, one, &s->heads, st->config->lookahead);
}

static uint64_t allowed_ns(const struct sched_state *st, uint32_t job) {
    uint64_t ns = state_request_ns(&st->jobs[job]) / 1000 * st->config->slack;
    return job_of(st, job)->late ? ns / LATE_PART : ns;
}

/* True if the kernel fits beside the running ones and every open request can afford it. */
static bool fits(const struct sched_state *st, uint32_t op) {
    const struct slack *s = st->own.policy;
    const struct classes *c = &st->classes;
    const struct sched_op *o = &st->ops[op];
    struct forecast_use one = forecast_use(&o->kernel, state_expected_ns(st, o), st->sms);
    for (uint32_t i = 0; i < c->high_count; i++) {
        const struct job *j = job_of(st, c->high[i]);
        if (!j->open) continue;
        if (!forecast_room(&j->sequence, &one, &s->heads)) return false;
        if (j->spent_ns + delay_ns(st, j, &one) > allowed_ns(st, c->high[i])) return false;
    }
    return true;
}

/* True if the job's next request is expected and has not come. */
static bool is_foreseen(const struct sched_state *st, uint32_t job) {
    const struct arrival *a = &job_of(st, job)->arrival;
    return st->config->foresee && !job_of(st, job)->open && a->next_ns + a->error_ns > st->now_ns;
}

static bool any_foreseen(const struct sched_state *st) {
    for (uint32_t i = 0; i < st->classes.high_count; i++)
        if (is_foreseen(st, st->classes.high[i])) return true;
    return false;
}

/* True if the kernel would delay an expected request by more than its slack. */
static bool is_held(const struct sched_state *st, uint32_t op) {
    const struct slack *s = st->own.policy;
    const struct classes *c = &st->classes;
    const struct sched_op *o = &st->ops[op];
    struct forecast_use one = forecast_use(&o->kernel, state_expected_ns(st, o), st->sms);
    for (uint32_t i = 0; i < c->high_count; i++) {
        const struct job *j = job_of(st, c->high[i]);
        const struct arrival *a = &j->arrival;
        if (!is_foreseen(st, c->high[i]) || one.ns < 2 * a->error_ns) continue;
        uint64_t from = a->next_ns - a->error_ns, to = st->now_ns + LEAD_NS + one.ns;
        if (from < st->now_ns) from = st->now_ns;
        if (to <= from) continue;
        struct forecast_use left = one;
        left.ns = to - from;
        if (left.wave_ns > left.ns) left.wave_ns = left.ns;
        uint64_t most = state_request_ns(&st->jobs[c->high[i]]) / 1000 * st->config->slack;
        if (forecast_delay_of_next(&j->sequence, &left, &s->heads, st->config->lookahead) > most &&
            hold_budget_affords(&s->hold_budget, a->next_ns + a->error_ns - st->now_ns))
            return true;
    }
    return false;
}

static bool may(const struct sched_state *st, uint32_t op) {
    const struct slack *s = st->own.policy;
    const struct classes *c = &st->classes;
    uint32_t job = st->ops[op].job;
    if (c->high_count == 0) return true;
    if (job_of(st, job)->until_ns > st->now_ns + LEAD_NS) return false;
    if (busy(st)) return fits(st, op);
    return c->running[CLASS_BEST] == st->jobs[job].running ||
           s->heads.wave_ns <= c->request_ns / 1000 * st->config->dur_threshold;
}

static uint32_t next(const struct sched_state *st) {
    struct slack *s = st->own.policy;
    const struct classes *c = &st->classes;
    uint32_t first = c->first[CLASS_BEST], job = first;
    bool held = false;
    if (any_foreseen(st) || s->hold_budget.held) hold_budget_settle(&s->hold_budget, st->now_ns);
    do {
        uint32_t op = state_runnable(st, job, SCHED_MEMORY);
        if (op != SCHED_NONE) return op;
        op = state_runnable(st, job, SCHED_KERNEL);
        bool wanted = may(st, op), waits = wanted && is_held(st, op);
        if (wanted && !waits) return op;
        held |= waits;
        job = classes_next(c, job);
    } while (job != first);
    s->hold_budget.held = held;
    return SCHED_NONE;
}

/* The time at which a stream is about to run dry, or at which a request turns out to wait for
 * its host. */
static uint64_t wake(const struct sched_state *st) {
    const struct slack *s = st->own.policy;
    const struct classes *c = &st->classes;
    uint64_t at = SCHED_NEVER;
    uint32_t first = c->first[CLASS_BEST], job = first;
    if (first == SCHED_NONE || c->high_count == 0) return at;
    for (uint32_t i = 0; i < c->high_count && c->running[CLASS_HIGH] == 0; i++) {
        const struct job *j = job_of(st, c->high[i]);
        uint64_t ns = j->sequence.since_ns + HOST_NS;
        if (between(st, j) && ns < at) at = ns;
    }
    for (uint32_t i = 0; i < c->high_count && s->hold_budget.held; i++) {
        const struct arrival *a = &job_of(st, c->high[i])->arrival;
        if (is_foreseen(st, c->high[i]) && a->next_ns + a->error_ns < at)
            at = a->next_ns + a->error_ns;
    }
    do {
        uint64_t ns = job_of(st, job)->until_ns;
        if (ns > st->now_ns + LEAD_NS && ns - LEAD_NS < at) at = ns - LEAD_NS;
        job = classes_next(c, job);
    } while (job != first);
    return at;
}

/* ---- events
 * ------------------------------------------------------------------------------------ */

/* For a job that never pauses, a request without a pause before it does not indicate a queue. */
static void open_request(const struct sched_state *st, uint32_t job) {
    const struct sched_job *r = &st->jobs[job];
    struct job *j = job_of(st, job);
    uint64_t gap_ns = r->request_at_ns - r->request_done_ns;
    bool prompt = gap_ns < r->request_ns / 1000 * PROMPT_MILLI;
    j->prompt_milli = j->prompt_milli - j->prompt_milli / 8 + (prompt ? 1000 / 8 : 0);
    j->late = prompt && j->prompt_milli < STEADY_MILLI;
    j->open = true;
    j->spent_ns = 0;
    if (st->config->foresee) arrival_came(&j->arrival, r->request_at_ns);
}

/* Charges every open request for a best-effort kernel, even a kernel that was launched when no
 * request was open. */
static void charge(const struct sched_state *st, const struct forecast_use *one) {
    for (uint32_t i = 0; i < st->classes.high_count; i++) {
        struct job *j = job_of(st, st->classes.high[i]);
        if (j->open) j->spent_ns += delay_ns(st, j, one);
    }
}

static void started(const struct sched_state *st, uint32_t op) {
    const struct sched_op *o = &st->ops[op];
    struct job *j = job_of(st, o->job);
    bool high = classes_of(&st->classes, o->job) == CLASS_HIGH;
    if (high && !j->open) open_request(st, o->job);
    if (!state_kernel(o)) return;
    struct forecast_use one = forecast_use(&o->kernel, o->expected_ns, st->sms);
    if (high) {
        forecast_began(&j->sequence, st->now_ns, one);
        return;
    }
    charge(st, &one);
    j->until_ns = (j->until_ns > st->now_ns ? j->until_ns : st->now_ns) + o->expected_ns;
    moved(st, o->job);
}

static void ended(const struct sched_state *st, uint32_t op) {
    const struct sched_op *o = &st->ops[op];
    struct job *j = job_of(st, o->job);
    uint32_t i = st->jobs[o->job].head[SCHED_RUNNING];
    if (classes_of(&st->classes, o->job) == CLASS_HIGH && state_kernel(o))
        forecast_ended(&j->sequence, st->now_ns);
    for (j->until_ns = st->now_ns; i != SCHED_NONE; i = st->ops[i].next)
        j->until_ns += st->ops[i].expected_ns;
    moved(st, o->job);
}

static void iterated(const struct sched_state *st, uint32_t job) {
    struct job *j = job_of(st, job);
    forecast_over(&j->sequence);
    j->open = false;
}

static bool blocks(void *item, memory_visit *visit, void *arg) {
    struct job *j = item;
    return forecast_memory(&j->sequence, visit, arg);
}

const struct policy slackscan = {
    .name = "slack",
    .priorities = true,
    .classes = true,
    .own_bytes = sizeof(struct slack),
    .job_bytes = sizeof(struct job),
    .next = next,
    .started = started,
    .ended = ended,
    .changed = moved,
    .iterated = iterated,
    .wake = wake,
    .blocks = blocks,
};
