/* SPDX-License-Identifier: Apache-2.0
 *
 * Admission of kernels by predicted delay. Orion checks whether two kernels need opposite units,
 * but neither how much of them, nor the kernels that follow. Here a best-effort kernel runs beside
 * a high-priority request as long as the predicted delay (forecast.h) fits into the request's
 * `slack`, a part of its latency alone.
 *
 *   account       each request begins with its slack; every admitted kernel is charged with its
 *                 predicted delay
 *   late          a request that arrived at the very end of the previous one has waited behind it
 *                 and belongs to the latency tail: it gets little slack
 *   just in time  a stream gets its next kernel shortly before it runs empty, so that the device
 *                 does not wait for a launch and no kernel is queued in front of a request
 *
 * While there is no request, best-effort kernels of one stream run always, and those of other
 * streams as long as the waves that would delay a request take at most `dur_threshold` of it.
 *
 *   foreseen      a kernel waits for the predicted next request of a job (arrival.h) if it would
 *                 still run at that time and delay the request by more than its slack, as long as
 *                 that costs best-effort jobs at most the budget of hold_budget.h
 *   slices        where the device has slices, a kernel that is running when a request arrives, and
 *                 would delay it by more than its slack, is preempted until the request ends
 *                 (preempted_jobs.h)
 */
#include <stddef.h>

#include "daemon/sched/policy/arrival.h"
#include "daemon/sched/policy/candidate_queue.h"
#include "daemon/sched/policy/forecast.h"
#include "daemon/sched/policy/hold_budget.h"
#include "daemon/sched/policy/policy.h"
#include "daemon/sched/policy/preempted_jobs.h"

#define LEAD_NS 10000u  /* time before a stream runs empty at which it gets its next kernel */
#define HOST_NS 50000u  /* time between two launches of a host that does not wait */
#define LATE_PART 50u   /* divisor of a late request's slack */
#define PROMPT_MILLI 10 /* thousandths of a request: a shorter pause before it does not count */
#define STEADY_MILLI \
    950 /* thousandths of a job's requests: when so many come without a pause, none is late */

struct job {
    struct candidate_job waiting; /* best-effort; first member: candidate_queue.h */
    struct preempted_job stand;   /* best-effort: preemption of its kernels on the device */
    struct forecast sequence;     /* high-priority: the kernels of its requests */
    struct forecast_use takes;    /* best-effort: resources of the kernel on the device */
    uint64_t spent_ns;            /* part of the request's slack that is spent */
    uint64_t until_ns;            /* predicted end of its operations on the device */
    uint32_t prompt_milli;        /* moving mean of requests that came without a pause */
    bool runs;                    /* best-effort: has operations on the device */
    bool open;                    /* a request is in progress */
    bool came; /* the request is new, and running kernels were not examined yet */
    bool late;
    struct arrival arrival; /* high-priority: prediction of its requests */
};

struct slack {
    struct forecast_use heads;      /* resources of the best-effort jobs' current kernels together;
                                       queued kernels use none yet */
    struct candidate_queue waiting; /* best-effort jobs that have an operation to run */
    uint32_t runners;               /* best-effort jobs with operations on the device */
    uint32_t runners_sum;           /* sum of their job slots, which is the job when there is one */
    struct hold_budget hold_budget; /* budget for kernels held back for predicted requests */
    struct preempted_jobs stand;
};

static struct job *job_of(const struct sched_state *st, uint32_t job) {
    return (struct job *)st->own.jobs + job;
}

static struct preempted_jobs_in preempted_of(const struct sched_state *st) {
    struct slack *s = st->own.policy;
    return (struct preempted_jobs_in){&s->stand, st->own.jobs, sizeof(struct job),
                                      offsetof(struct job, stand)};
}

/* ---- operations on the device --------------------------------------------------------------- */

/* Slices give slots to the higher level first, if the device has stream priorities. */
static uint64_t slice_ns(const struct sched_state *st) {
    return st->config->slices && st->config->priorities ? st->slice_ns : 0;
}

static struct forecast_use best_use(const struct sched_state *st, const struct sched_kernel *k,
                                    uint64_t ns) {
    return forecast_sliced(forecast_use(k, ns, st->sms), slice_ns(st));
}

/* Resources of the job's current kernel; a preempted job uses none. */
static struct forecast_use takes(const struct sched_state *st, uint32_t job) {
    const struct sched_op *o = state_device_kernel(st, job);
    if (!o || classes_of(&st->classes, job) == CLASS_HIGH || job_of(st, job)->stand.stands)
        return (struct forecast_use){0};
    return best_use(st, &o->kernel, o->kernel.mean_ns);
}

/* Resumes a job that has nothing on the device any more, or whose kernels shall finish, before the
 * job is forgotten. */
static void end_standing(const struct sched_state *st, uint32_t job) {
    const struct preempted_jobs_in in = preempted_of(st);
    bool gone = st->jobs[job].left && st->jobs[job].running == 0;
    if (gone || !st->jobs[job].still) preempted_leave(in, job);
    if (preempted_job(in, job)->in) preempted_set(in, job, false, st->now_ns);
}

static void count_runner(const struct sched_state *st, uint32_t job) {
    struct slack *s = st->own.policy;
    struct job *j = job_of(st, job);
    bool runs = classes_of(&st->classes, job) == CLASS_BEST && st->jobs[job].running > 0;
    if (runs && !st->jobs[job].left)
        preempted_enter(preempted_of(st), job);
    else
        end_standing(st, job);
    if (runs == j->runs) return;
    j->runs = runs;
    s->runners += runs ? 1 : -1u;
    s->runners_sum += runs ? job : -job;
}

/* Updates `heads` when the device may have begun another kernel of the job. */
static void moved(const struct sched_state *st, uint32_t job) {
    struct slack *s = st->own.policy;
    count_runner(st, job); /* first, because a preempted job uses no resources */
    struct forecast_use *old = &job_of(st, job)->takes, new = takes(st, job);
    s->heads.wave_ns += new.wave_ns - old->wave_ns;
    s->heads.slots += new.slots - old->slots;
    s->heads.compute += new.compute - old->compute;
    s->heads.memory += new.memory - old->memory;
    *old = new;
}

/* ---- admission of kernels ------------------------------------------------------------------- */

/* A request is in progress, even if none of its operations is on the device: its host is only
 * between two launches. */
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

/* Predicted delay of the job's request by the kernel. */
static uint64_t delay_ns(const struct sched_state *st, const struct job *j,
                         const struct forecast_use *one) {
    const struct slack *s = st->own.policy;
    return forecast_delay(&j->sequence, st->now_ns, one, &s->heads, st->config->lookahead);
}

static uint64_t slack_ns(const struct sched_state *st, uint32_t job) {
    return state_request_ns(&st->jobs[job]) / 1000 * st->config->slack;
}

static uint64_t allowed_ns(const struct sched_state *st, uint32_t job) {
    uint64_t ns = slack_ns(st, job);
    return job_of(st, job)->late ? ns / LATE_PART : ns;
}

/* The kernel has enough slots beside the running ones, and every current request has enough slack.
 */
static bool fits(const struct sched_state *st, const struct forecast_use *one) {
    const struct slack *s = st->own.policy;
    const struct classes *c = &st->classes;
    for (uint32_t i = 0; i < c->high_count; i++) {
        const struct job *j = job_of(st, c->high[i]);
        if (!j->open) continue;
        if (!forecast_room(&j->sequence, one, &s->heads)) return false;
        if (j->spent_ns + delay_ns(st, j, one) > allowed_ns(st, c->high[i])) return false;
    }
    return true;
}

/* ---- predicted requests --------------------------------------------------------------------- */

/* The next request of the job is predicted, and has not arrived. */
static bool is_foreseen(const struct sched_state *st, uint32_t job) {
    const struct job *j = job_of(st, job);
    return !j->open && st->config->foresee && arrival_expected(&j->arrival, st->now_ns);
}

/* The kernel, sent now, would delay the predicted request by more than its slack. A kernel shorter
 * than the uncertainty of the arrival does not count: holding it back would cost more than it could
 * delay. */
static bool collides(const struct sched_state *st, uint32_t job, const struct forecast_use *one) {
    const struct slack *s = st->own.policy;
    const struct job *j = job_of(st, job);
    const struct arrival *a = &j->arrival;
    uint64_t end_ns = st->now_ns + LEAD_NS + one->ns, from_ns = a->next_ns - a->error_ns;
    if (from_ns < st->now_ns) from_ns = st->now_ns;
    if (2 * a->error_ns > one->ns || end_ns <= from_ns) return false;
    struct forecast_use left = *one;
    left.ns = end_ns - from_ns;
    if (left.wave_ns > left.ns) left.wave_ns = left.ns;
    uint64_t ns = forecast_delay_of_next(&j->sequence, &left, &s->heads, st->config->lookahead);
    if (slice_ns(st) && ns > slice_ns(st)) ns = slice_ns(st); /* slices bound the delay */
    return ns > slack_ns(st, job);
}

/* The kernel is held back for a predicted request. */
static bool is_held(const struct sched_state *st, const struct forecast_use *one) {
    const struct slack *s = st->own.policy;
    const struct classes *c = &st->classes;
    for (uint32_t i = 0; i < c->high_count; i++) {
        const struct arrival *a = &job_of(st, c->high[i])->arrival;
        if (!is_foreseen(st, c->high[i]) || !collides(st, c->high[i], one)) continue;
        if (hold_budget_affords(&s->hold_budget, a->next_ns + a->error_ns - st->now_ns))
            return true;
    }
    return false;
}

/* Earliest time at which a predicted request is overdue. */
static uint64_t overdue_ns(const struct sched_state *st) {
    const struct classes *c = &st->classes;
    uint64_t at = SCHED_NEVER;
    for (uint32_t i = 0; i < c->high_count; i++) {
        const struct arrival *a = &job_of(st, c->high[i])->arrival;
        if (is_foreseen(st, c->high[i]) && a->next_ns + a->error_ns < at)
            at = a->next_ns + a->error_ns;
    }
    return at;
}

/* ---- the next operation --------------------------------------------------------------------- */

static struct candidate_queue_in waiting_of(const struct sched_state *st) {
    struct slack *s = st->own.policy;
    return (struct candidate_queue_in){&s->waiting, st->own.jobs, sizeof(struct job)};
}

static void place(const struct sched_state *st, struct candidate_queue_in in, uint32_t job) {
    const struct job *j = job_of(st, job);
    uint64_t turn = classes_turn(&st->classes, job);
    candidate_take(in, job);
    if (classes_of(&st->classes, job) == CLASS_HIGH) return;
    if (state_runnable(st, job, SCHED_MEMORY) != SCHED_NONE) {
        candidate_copy(in, job, turn);
        return;
    }
    uint32_t op = state_runnable(st, job, SCHED_KERNEL);
    if (op == SCHED_NONE) return;
    const struct sched_op *o = &st->ops[op];
    struct forecast_use use = best_use(st, &o->kernel, state_expected_ns(st, o));
    if (j->stand.stands)
        candidate_sleep(in, job, SCHED_NEVER, use); /* until it is resumed */
    else if (j->until_ns > st->now_ns + LEAD_NS)
        candidate_sleep(in, job, j->until_ns, use);
    else
        candidate_wake(in, job, turn, use);
}

/* Places all marked jobs, and wakes those whose sleep is over. */
static void settle(const struct sched_state *st, struct candidate_queue_in in) {
    uint32_t job;
    while ((job = candidate_marked(in)) != CANDIDATE_NONE)
        place(st, in, job);
    while ((job = candidate_first_asleep(in.all)) != CANDIDATE_NONE) {
        struct candidate_job *w = candidate_job(in, job);
        if (w->key > st->now_ns + LEAD_NS) break;
        candidate_take(in, job);
        candidate_wake(in, job, classes_turn(&st->classes, job), w->use);
    }
}

/* Marks a changed job for a new placement. A job that has left is removed at once, before its item
 * is freed. */
static void mark(const struct sched_state *st, uint32_t job) {
    struct candidate_queue_in in = waiting_of(st);
    candidate_mark(in, job);
    if (st->jobs[job].left) settle(st, in);
}

/* Slots that are free beside every current request. */
static int32_t free_slots(const struct sched_state *st) {
    const struct slack *s = st->own.policy;
    const struct classes *c = &st->classes;
    int32_t least = INT32_MAX;
    for (uint32_t i = 0; i < c->high_count; i++) {
        const struct job *j = job_of(st, c->high[i]);
        int32_t slots = j->open ? forecast_free(&j->sequence, &s->heads) : INT32_MAX;
        if (slots < least) least = slots;
    }
    return least;
}

/* The conditions of a search for the next job. */
struct search {
    uint64_t turn; /* only jobs whose turn is earlier */
    int32_t slots; /* only kernels that need at most this many */
    bool beside;   /* only kernels that fit beside the current requests */
    bool foreseen; /* only kernels that need not be held back for a predicted request */
    bool held;     /* result: a kernel was held back */
};

static bool is_wanted(const struct sched_state *st, struct search *f,
                      const struct candidate_job *w) {
    if (w->key >= f->turn || (f->beside && !fits(st, &w->use))) return false;
    bool held = f->foreseen && is_held(st, &w->use);
    f->held |= held;
    return !held;
}

/* Returns the first awake job by turn that meets the conditions. */
static uint32_t first_awake(const struct sched_state *st, struct search *f) {
    const struct candidate_queue_in in = waiting_of(st);
    uint32_t best = SCHED_NONE;
    uint64_t lists = f->slots < 0 ? 0 : candidate_lists(in.all, (uint32_t)f->slots);
    for (; lists; lists &= lists - 1) {
        uint32_t job = candidate_kind(in.all, (uint32_t)__builtin_ctzll(lists));
        for (; job != CANDIDATE_NONE; job = candidate_next_kind(in, job)) {
            const struct candidate_job *w = candidate_job(in, job);
            if (!is_wanted(st, f, w)) continue;
            best = job;
            f->turn = w->key;
        }
    }
    return best;
}

/* The next job while no request is in progress: any, or the only one with operations on the device.
 */
static uint32_t first_alone(const struct sched_state *st, struct search *f) {
    const struct slack *s = st->own.policy;
    uint64_t most_ns = st->classes.request_ns / 1000 * st->config->dur_threshold;
    if (s->runners == 0 || s->heads.wave_ns <= most_ns) return first_awake(st, f);
    if (s->runners > 1) return SCHED_NONE;
    const struct candidate_job *w = candidate_job(waiting_of(st), s->runners_sum);
    return w->place == CANDIDATE_AWAKE && is_wanted(st, f, w) ? s->runners_sum : SCHED_NONE;
}

/* The next kernel of a job whose turn is before `turn`. */
static uint32_t next_kernel(const struct sched_state *st, uint64_t turn) {
    struct slack *s = st->own.policy;
    struct search f = {turn, .slots = INT32_MAX, .foreseen = overdue_ns(st) != SCHED_NEVER};
    if (f.foreseen || s->hold_budget.held) hold_budget_settle(&s->hold_budget, st->now_ns);
    f.beside = busy(st);
    if (f.beside) f.slots = free_slots(st);
    uint32_t job = f.beside ? first_awake(st, &f) : first_alone(st, &f);
    s->hold_budget.held = job == SCHED_NONE && f.held;
    return job;
}

static uint32_t next(const struct sched_state *st) {
    const struct slack *s = st->own.policy;
    uint32_t first = st->classes.first[CLASS_BEST];
    if (st->classes.high_count) {
        settle(st, waiting_of(st));
        first = candidate_first_copy(&s->waiting);
        uint64_t turn = first == SCHED_NONE ? UINT64_MAX : classes_turn(&st->classes, first);
        uint32_t job = next_kernel(st, turn);
        if (job != SCHED_NONE) return state_runnable(st, job, SCHED_KERNEL);
        if (first == SCHED_NONE) return SCHED_NONE;
    }
    uint32_t copy = state_runnable(st, first, SCHED_MEMORY);
    return copy != SCHED_NONE ? copy : state_runnable(st, first, SCHED_KERNEL);
}

/* ---- preemption ----------------------------------------------------------------------------- */

/* The rest of the job's kernel would delay the request by more than its remaining slack. */
static bool is_in_the_way(const struct sched_state *st, uint32_t job, uint32_t of) {
    const struct slack *s = st->own.policy;
    const struct job *b = job_of(st, job);
    struct job *high = job_of(st, of);
    struct forecast_use left = b->takes, others = s->heads;
    if (high->sequence.count == 0) return true;
    left.ns = b->until_ns > st->now_ns ? b->until_ns - st->now_ns : 0;
    if (left.wave_ns > left.ns) left.wave_ns = left.ns;
    others.slots -= left.slots;
    others.compute -= left.compute;
    others.memory -= left.memory;
    uint64_t ns = forecast_delay_of_next(&high->sequence, &left, &others, st->config->lookahead);
    if (high->spent_ns + ns > allowed_ns(st, of)) return true;
    high->spent_ns += ns;
    return false;
}

/* Decides for a kernel that was running when requests arrived whether it is preempted. */
static void look_at(const struct sched_state *st, uint32_t job) {
    const struct classes *c = &st->classes;
    struct job *b = job_of(st, job);
    if (b->stand.stands || b->stand.spared || !b->runs) return;
    bool stands = false;
    for (uint32_t i = 0; i < c->high_count && !stands; i++)
        stands = job_of(st, c->high[i])->came && is_in_the_way(st, job, c->high[i]);
    if (!stands) return;
    b->stand.left_ns = b->until_ns > st->now_ns ? b->until_ns - st->now_ns : 0;
    preempted_set(preempted_of(st), job, true, st->now_ns);
    moved(st, job);
    mark(st, job);
}

static void go_on(const struct sched_state *st, uint32_t job) {
    struct job *b = job_of(st, job);
    if (!b->stand.stands) return;
    b->until_ns = st->now_ns + b->stand.left_ns;
    preempted_set(preempted_of(st), job, false, st->now_ns);
    moved(st, job);
    mark(st, job);
}

static void look_at_all(const struct sched_state *st) {
    const struct preempted_jobs_in in = preempted_of(st);
    const struct classes *c = &st->classes;
    bool over = in.all->count && st->now_ns >= in.all->until_ns;
    bool goes = over || !slice_ns(st) || !busy(st);
    uint32_t i = PREEMPTED_NONE;
    if (!in.all->came && !(in.all->count && goes)) return;
    while ((i = preempted_next(in, i)) != PREEMPTED_NONE) {
        if (goes)
            go_on(st, i);
        else
            look_at(st, i);
        if (over) preempted_job(in, i)->spared = true;
    }
    for (uint32_t k = 0; k < c->high_count; k++)
        job_of(st, c->high[k])->came = false;
    in.all->came = false;
}

static uint32_t turned(const struct sched_state *st) {
    const struct preempted_jobs_in in = preempted_of(st);
    look_at_all(st);
    if (!in.all->look) return SCHED_NONE;
    for (uint32_t i = preempted_next(in, PREEMPTED_NONE); i != PREEMPTED_NONE;
         i = preempted_next(in, i))
        if (preempted_job(in, i)->stands != st->jobs[i].still) return i;
    in.all->look = false;
    return SCHED_NONE;
}

/* Time at which a stream is about to run empty, a request turns out to wait for its host, or a
 * predicted request turns out not to come. */
static uint64_t wake(const struct sched_state *st) {
    const struct slack *s = st->own.policy;
    const struct classes *c = &st->classes;
    uint64_t at = SCHED_NEVER;
    if (c->first[CLASS_BEST] == SCHED_NONE && s->stand.count == 0) return at;
    if (c->high_count == 0) return at;
    for (uint32_t i = 0; i < c->high_count && c->running[CLASS_HIGH] == 0; i++) {
        const struct job *j = job_of(st, c->high[i]);
        uint64_t ns = j->sequence.since_ns + HOST_NS;
        if (between(st, j) && ns < at) at = ns;
    }
    if (s->hold_budget.held) {
        uint64_t ns = overdue_ns(st);
        if (ns < at) at = ns;
    }
    if (s->stand.count && s->stand.until_ns < at) at = s->stand.until_ns;
    uint32_t asleep = candidate_first_asleep(&s->waiting);
    uint64_t key =
        asleep == CANDIDATE_NONE ? SCHED_NEVER : candidate_job(waiting_of(st), asleep)->key;
    return key != SCHED_NEVER && key - LEAD_NS < at ? key - LEAD_NS : at;
}

/* ---- events --------------------------------------------------------------------------------- */

/* Requests a look at the best-effort kernels on the device. */
static void has_come(const struct sched_state *st, struct job *j) {
    struct slack *s = st->own.policy;
    if (slice_ns(st)) s->stand.came = j->came = true;
}

/* Begins a request. If a job never pauses, a request without a preceding pause does not indicate a
 * queue. */
static void open_request(const struct sched_state *st, uint32_t job) {
    const struct sched_job *r = &st->jobs[job];
    struct job *j = job_of(st, job);
    uint64_t gap_ns = r->request_at_ns - r->request_done_ns;
    bool prompt = gap_ns < r->request_ns / 1000 * PROMPT_MILLI;
    j->prompt_milli = j->prompt_milli - j->prompt_milli / 8 + (prompt ? 1000 / 8 : 0);
    j->late = prompt && j->prompt_milli < STEADY_MILLI;
    j->open = true;
    j->spent_ns = 0;
    has_come(st, j);
    if (st->config->foresee) arrival_came(&j->arrival, r->request_at_ns);
}

/* Charges every current request for a best-effort kernel, even for one that was admitted when there
 * was no request. */
static void charge(const struct sched_state *st, const struct forecast_use *one) {
    for (uint32_t i = 0; i < st->classes.high_count; i++) {
        struct job *j = job_of(st, st->classes.high[i]);
        if (j->open) j->spent_ns += delay_ns(st, j, one);
    }
}

/* Accounts for a best-effort kernel that was sent, usually the one with which its job was awake. */
static void send(const struct sched_state *st, const struct sched_op *o) {
    struct job *j = job_of(st, o->job);
    const struct candidate_job *w = &j->waiting;
    if (w->place == CANDIDATE_AWAKE && !w->marked) {
        charge(st, &w->use);
    } else if (st->classes.high_count) {
        struct forecast_use one = best_use(st, &o->kernel, o->expected_ns);
        charge(st, &one);
    }
    j->until_ns = (j->until_ns > st->now_ns ? j->until_ns : st->now_ns) + o->expected_ns;
}

/* Only an operation that becomes the first of a queue matters. */
static void submitted(const struct sched_state *st, uint32_t op) {
    uint32_t job = st->ops[op].job;
    if (!classes_has(&st->classes, job) || !state_kernel(&st->ops[op])) mark(st, job);
}

static void started(const struct sched_state *st, uint32_t op) {
    const struct sched_op *o = &st->ops[op];
    struct job *j = job_of(st, o->job);
    if (classes_of(&st->classes, o->job) == CLASS_BEST) {
        if (state_kernel(o)) send(st, o);
        if (st->jobs[o->job].running == 1 || state_device_kernel(st, o->job) == o)
            moved(st,
                  o->job); /* otherwise the device still executes an earlier kernel of the job */
        mark(st, o->job);
        return;
    }
    if (!j->open)
        open_request(st, o->job);
    else if (st->jobs[o->job].running == 1 && st->now_ns >= j->sequence.since_ns + HOST_NS)
        has_come(st, j); /* once more, since the device was not kept free for it */
    if (state_kernel(o))
        forecast_began(&j->sequence, st->now_ns, forecast_use(&o->kernel, o->expected_ns, st->sms));
}

static void ended(const struct sched_state *st, uint32_t op) {
    const struct sched_op *o = &st->ops[op];
    struct job *j = job_of(st, o->job);
    uint32_t i = st->jobs[o->job].head[SCHED_RUNNING];
    bool high = classes_of(&st->classes, o->job) == CLASS_HIGH;
    if (high && state_kernel(o)) forecast_ended(&j->sequence, st->now_ns);
    for (j->until_ns = st->now_ns; i != SCHED_NONE; i = st->ops[i].next)
        j->until_ns += st->ops[i].expected_ns;
    j->stand.left_ns = j->until_ns - st->now_ns;
    j->stand.spared = false;
    moved(st, o->job);
    if (!high) mark(st, o->job);
}

static void changed(const struct sched_state *st, uint32_t job) {
    moved(st, job);
    mark(st, job);
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

/* ---- checks --------------------------------------------------------------------------------- */

/* An unmarked job is in the place that its state requires. */
static const char *check_place(const struct sched_state *st, uint32_t job) {
    const struct classes *c = &st->classes;
    const struct candidate_job *w = &job_of(st, job)->waiting;
    uint32_t following = classes_next(c, job);
    if (w->marked) return NULL;
    bool copy = state_runnable(st, job, SCHED_MEMORY) != SCHED_NONE;
    bool in = classes_of(c, job) == CLASS_BEST && classes_has(c, job);
    if (copy != (w->place == CANDIDATE_COPIES) && in)
        return "slack: a memory operation is not counted";
    if (in != (w->place != CANDIDATE_NOWHERE)) return "slack: a job without operations waits";
    if (!in) return NULL;
    if (w->place != CANDIDATE_ASLEEP && w->key != classes_turn(c, job))
        return "slack: a job's position in the queue differs from its turn";
    return following == c->first[CLASS_BEST] || classes_turn(c, job) < classes_turn(c, following)
               ? NULL
               : "slack: turns do not increase along the ring";
}

static const char *check(const struct sched_state *st) {
    const struct slack *s = st->own.policy;
    struct forecast_use sum = {0};
    uint32_t runners = 0;
    for (uint32_t job = 0; job < st->jobs_cap; job++) {
        const char *broken = st->jobs[job].used ? check_place(st, job) : NULL;
        if (broken) return broken;
        if (!st->jobs[job].used) continue;
        struct forecast_use u = takes(st, job);
        sum.wave_ns += u.wave_ns;
        sum.slots += u.slots;
        sum.compute += u.compute;
        sum.memory += u.memory;
        runners += classes_of(&st->classes, job) == CLASS_BEST && st->jobs[job].running > 0;
    }
    if (sum.wave_ns != s->heads.wave_ns || sum.slots != s->heads.slots ||
        sum.compute != s->heads.compute || sum.memory != s->heads.memory || runners != s->runners)
        return "slack: the device's use by best-effort jobs was miscounted";
    const char *broken = preempted_check(preempted_of(st), st->jobs_cap);
    return broken ? broken : candidate_check(waiting_of(st), st->jobs_cap);
}

const struct policy pol_slack = {
    .name = "slack",
    .priorities = true,
    .classes = true,
    .own_bytes = sizeof(struct slack),
    .job_bytes = sizeof(struct job),
    .next = next,
    .submitted = submitted,
    .started = started,
    .ended = ended,
    .changed = changed,
    .iterated = iterated,
    .turned = turned,
    .wake = wake,
    .blocks = blocks,
    .check = check,
};
