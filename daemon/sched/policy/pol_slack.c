/* SPDX-License-Identifier: Apache-2.0
 *
 * Admission by predicted delay. Orion asks whether two kernels need opposite units; that says
 * nothing of how much, nor of the kernels that come next. Here a best-effort kernel goes beside a
 * high-priority request while the time by which it is reckoned to delay it (forecast.h) fits into
 * what the request may lose: `slack` of its time alone.
 *
 *   account       each request begins with its slack; every kernel let through is charged with what
 *                 it is reckoned to cost
 *   late          a request that came at the very end of the one before it waited behind it, and is
 *                 of those that make the tail: it gets little
 *   just in time  a stream gets its next kernel shortly before it runs dry, so that the device
 *                 does not wait for a launch and nothing is queued in front of a request
 *
 * While no request is there, best-effort kernels go: of one stream in any case, of others too while
 * the waves that would hold up a request are no longer than `dur_threshold` of it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sched/policy/forecast.h"
#include "daemon/sched/policy/gate.h"

#define SLACK_LEAD_NS 10000u   /* a stream has its next kernel so long before it runs dry */
#define SLACK_HOST_NS 50000u   /* between two launches of a host that does not wait */
#define SLACK_LATE 50u         /* a late request's slack is divided by */
#define SLACK_PROMPT_MILLI 10  /* of a request: a shorter pause before it is none */
#define SLACK_STEADY_MILLI 950 /* of a job's requests: when so many come promptly, none is late */

struct slack_job {
    struct forecast sequence; /* high-priority: the kernels of its request */
    uint64_t spent_ns;        /* of the request's slack */
    uint64_t until_ns;        /* best-effort: when what it has on the device will be over */
    uint32_t prompt_milli;    /* of its requests that came without a pause, a mean that follows */
    uint32_t at;              /* in `active`, while it is there */
    bool active;
    bool open; /* a request is there */
    bool late;
};

struct slack {
    struct gate gate; /* first */
    struct slack_job *jobs;
    uint32_t *active; /* jobs with kernels on the device, [cap] */
    uint32_t cap, active_count;
};

/* ---- who has kernels on the device -------------------------------------------------------------
 */

static void slack_active(struct slack *s, const struct sched_state *st, uint32_t job) {
    struct slack_job *j = &s->jobs[job];
    bool active = gate_kernel(st, job) != NULL;
    if (active == j->active) return;
    j->active = active;
    if (active) {
        j->at = s->active_count;
        s->active[s->active_count++] = job;
        return;
    }
    uint32_t last = s->active[--s->active_count];
    s->active[j->at] = last;
    s->jobs[last].at = j->at;
}

/* What the kernels that best-effort streams are at take together; those queued behind take nothing
 * yet. */
static struct forecast_use slack_heads(const struct slack *s, const struct sched_state *st) {
    struct forecast_use sum = {0};
    for (uint32_t i = 0; i < s->active_count; i++) {
        uint32_t job = s->active[i];
        if (s->gate.slots[job].class == GATE_HIGH) continue;
        const struct sched_kernel *k = gate_kernel(st, job);
        struct forecast_use u = forecast_use(k, k->mean_ns, st->sms);
        sum.wave_ns += u.wave_ns;
        sum.slots += u.slots;
        sum.compute += u.compute;
        sum.memory += u.memory;
    }
    return sum;
}

/* ---- whether a kernel may go -------------------------------------------------------------------
 */

/* A request is there: something of it is on the device, or is about to be, for its host is only
 * between two launches. */
static bool slack_between(const struct slack_job *j, const struct sched_state *st) {
    return j->open && forecast_more(&j->sequence) &&
           st->now_ns < j->sequence.since_ns + SLACK_HOST_NS;
}

static bool slack_busy(const struct slack *s, const struct sched_state *st) {
    if (s->gate.running[GATE_HIGH]) return true;
    for (uint32_t i = 0; i < s->gate.high_count; i++)
        if (slack_between(&s->jobs[s->gate.high[i]], st)) return true;
    return false;
}

static uint64_t slack_delay(const struct slack *s, const struct sched_state *st, uint32_t job,
                            const struct forecast_use *one, const struct forecast_use *heads) {
    return forecast_delay(&s->jobs[job].sequence, st->now_ns, one, heads, st->config->lookahead);
}

static uint64_t slack_may(const struct slack *s, const struct sched_state *st, uint32_t job) {
    uint64_t ns = state_request_ns(&st->jobs[job]) / 1000 * st->config->slack;
    return s->jobs[job].late ? ns / SLACK_LATE : ns;
}

/* It has its slots beside what runs, and every request that is there can afford it. */
static bool slack_fits(const struct slack *s, const struct sched_state *st, uint32_t op) {
    const struct sched_op *o = &st->ops[op];
    struct forecast_use heads = slack_heads(s, st);
    struct forecast_use one = forecast_use(&o->kernel, state_expected_ns(st, o), st->sms);
    for (uint32_t i = 0; i < s->gate.high_count; i++) {
        uint32_t job = s->gate.high[i];
        const struct slack_job *j = &s->jobs[job];
        if (!j->open) continue;
        if (!forecast_room(&j->sequence, &one, &heads)) return false;
        if (j->spent_ns + slack_delay(s, st, job, &one, &heads) > slack_may(s, st, job))
            return false;
    }
    return true;
}

static bool slack_pass(const void *self, const struct sched_state *st, uint32_t op) {
    const struct slack *s = self;
    const struct gate *g = &s->gate;
    uint32_t job = st->ops[op].job;
    if (g->high_count == 0) return true;
    if (s->jobs[job].until_ns > st->now_ns + SLACK_LEAD_NS) return false;
    if (slack_busy(s, st)) return slack_fits(s, st, op);
    return g->running[GATE_BEST] == st->jobs[job].running ||
           slack_heads(s, st).wave_ns <= g->request_ns / 1000 * st->config->dur_threshold;
}

static uint32_t slack_pick(void *self, const struct sched_state *st) {
    return gate_pick(self, st, slack_pass);
}

/* When a stream is about to run dry, or a request turns out to wait for its host. */
static uint64_t slack_wake(const void *self, const struct sched_state *st) {
    const struct slack *s = self;
    uint64_t at = SCHED_NEVER;
    uint32_t first = s->gate.turn[GATE_BEST], job = first;
    if (first == SCHED_NONE || s->gate.high_count == 0) return at;
    for (uint32_t i = 0; i < s->gate.high_count && s->gate.running[GATE_HIGH] == 0; i++) {
        const struct slack_job *j = &s->jobs[s->gate.high[i]];
        uint64_t ns = j->sequence.since_ns + SLACK_HOST_NS;
        if (slack_between(j, st) && ns < at) at = ns;
    }
    do {
        uint64_t ns = s->jobs[job].until_ns;
        if (ns > st->now_ns + SLACK_LEAD_NS && ns - SLACK_LEAD_NS < at) at = ns - SLACK_LEAD_NS;
        job = s->gate.slots[job].next;
    } while (job != first);
    return at;
}

/* ---- hooks -------------------------------------------------------------------------------------
 */

static void slack_fini(void *self) {
    struct slack *s = self;
    for (uint32_t i = 0; i < s->cap; i++)
        forecast_finish(&s->jobs[i].sequence);
    free(s->jobs);
    free(s->active);
    gate_fini(self);
}

static int slack_reserve(void *self, uint32_t jobs) {
    struct slack *s = self;
    if (jobs <= s->cap) return gate_reserve(self, jobs);
    uint32_t *active = realloc(s->active, jobs * sizeof(*active));
    if (!active) return -ENOMEM;
    s->active = active;
    struct slack_job *grown = realloc(s->jobs, jobs * sizeof(*grown));
    if (!grown) return -ENOMEM;
    memset(grown + s->cap, 0, (jobs - s->cap) * sizeof(*grown));
    s->jobs = grown;
    s->cap = jobs;
    return gate_reserve(self, jobs);
}

static bool slack_memory(void *self, memory_visit *visit, void *arg) {
    struct slack *s = self;
    bool visited = gate_memory(self, visit, arg) &&
                   visit(arg, (void **)&s->jobs, s->cap * sizeof(*s->jobs)) &&
                   visit(arg, (void **)&s->active, s->cap * sizeof(*s->active));
    for (uint32_t i = 0; visited && i < s->cap; i++) {
        struct forecast *f = &s->jobs[i].sequence;
        visited = visit(arg, (void **)&f->steps, f->cap * sizeof(*f->steps));
    }
    return visited;
}

/* Of a job that never pauses, a request without a pause before it is no sign of a queue. */
static void slack_open(struct slack_job *j, const struct sched_state *st, uint32_t job) {
    const struct sched_job *r = &st->jobs[job];
    uint64_t gap_ns = r->request_at_ns - r->request_done_ns;
    bool prompt = gap_ns < r->request_ns / 1000 * SLACK_PROMPT_MILLI;
    j->prompt_milli = j->prompt_milli - j->prompt_milli / 8 + (prompt ? 1000 / 8 : 0);
    j->late = prompt && j->prompt_milli < SLACK_STEADY_MILLI;
    j->open = true;
    j->spent_ns = 0;
}

/* Every request that is there pays for a best-effort kernel, also for one that no request was asked
 * about because none was there when it was let through. */
static void slack_charge(struct slack *s, const struct sched_state *st, const struct sched_op *o) {
    bool open = false;
    for (uint32_t i = 0; i < s->gate.high_count; i++)
        open |= s->jobs[s->gate.high[i]].open;
    if (!open) return;
    struct forecast_use heads = slack_heads(s, st);
    struct forecast_use one = forecast_use(&o->kernel, o->expected_ns, st->sms);
    for (uint32_t i = 0; i < s->gate.high_count; i++) {
        struct slack_job *j = &s->jobs[s->gate.high[i]];
        if (j->open) j->spent_ns += slack_delay(s, st, s->gate.high[i], &one, &heads);
    }
}

static void slack_started(void *self, const struct sched_state *st, uint32_t op) {
    struct slack *s = self;
    const struct sched_op *o = &st->ops[op];
    struct slack_job *j = &s->jobs[o->job];
    gate_started(self, st, op);
    if (s->gate.slots[o->job].class == GATE_HIGH) {
        if (!j->open) slack_open(j, st, o->job);
        if (state_kernel(o))
            forecast_began(&j->sequence, st->now_ns,
                           forecast_use(&o->kernel, o->expected_ns, st->sms));
    } else if (state_kernel(o)) {
        slack_charge(s, st, o);
        j->until_ns = (j->until_ns > st->now_ns ? j->until_ns : st->now_ns) + o->expected_ns;
    }
    slack_active(s, st, o->job);
}

static void slack_ended(void *self, const struct sched_state *st, uint32_t op) {
    struct slack *s = self;
    const struct sched_op *o = &st->ops[op];
    struct slack_job *j = &s->jobs[o->job];
    uint32_t i = st->jobs[o->job].head[SCHED_RUNNING];
    if (s->gate.slots[o->job].class == GATE_HIGH && state_kernel(o))
        forecast_ended(&j->sequence, st->now_ns);
    for (j->until_ns = st->now_ns; i != SCHED_NONE; i = st->ops[i].next)
        j->until_ns += st->ops[i].expected_ns;
    slack_active(s, st, o->job);
    gate_ended(self, st, op);
}

static void slack_iterated(void *self, const struct sched_state *st, uint32_t job) {
    struct slack *s = self;
    forecast_over(&s->jobs[job].sequence);
    s->jobs[job].open = false;
    gate_iterated(self, st, job);
}

/* A slot is used again: nothing of who had it before may stay. */
static void slack_turned(void *self, const struct sched_state *st, uint32_t job) {
    struct slack *s = self;
    struct slack_job *j = &s->jobs[job];
    gate_turned(self, st, job);
    if (!st->jobs[job].left) return;
    forecast_forget(&j->sequence);
    j->open = j->late = false;
    j->prompt_milli = 0;
    j->until_ns = 0;
}

static const char *slack_check(const void *self, const struct sched_state *st) {
    const struct slack *s = self;
    uint32_t active = 0;
    for (uint32_t job = 0; job < st->jobs_cap; job++) {
        if (s->jobs[job].active != (st->jobs[job].used && gate_kernel(st, job)))
            return "slack: who has kernels on the device is not known";
        active += s->jobs[job].active;
    }
    return active == s->active_count ? gate_check(self, st) : "slack: the active were miscounted";
}

const struct policy pol_slack = {
    .name = "slack",
    .priorities = true,
    .priv_size = sizeof(struct slack),
    .init = gate_init,
    .fini = slack_fini,
    .reserve = slack_reserve,
    .memory = slack_memory,
    .enqueue = gate_moved,
    .dequeue = gate_moved,
    .started = slack_started,
    .ended = slack_ended,
    .turned = slack_turned,
    .iterated = slack_iterated,
    .pick = slack_pick,
    .wake = slack_wake,
    .check = slack_check,
};
