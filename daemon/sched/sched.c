/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler's state and its one step: take the events in order, then run whatever the policy
 * picks. All room that a step can need is reserved before it changes anything, so that running out
 * of memory leaves the state as it was, and a steady state allocates nothing.
 */
#include "daemon/sched/sched.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/sched/policy.h"
#include "daemon/sched/state.h"

#define SCHED_DEFAULT_CAP 16
#define SCHED_MAX_ENTRIES (1u << 30)

struct sched {
    struct sched_state st;
    const struct policy *policy;
    void *self; /* the policy's */
    struct sched_action *actions;
    uint32_t actions_cap, actions_count;
};

/* ---- room ------------------------------------------------------------------------------------ */

static uint32_t sched_grown(uint32_t have, uint32_t need) {
    uint32_t size = have ? have : 64;
    while (size < need)
        size *= 2;
    return size;
}

static int sched_grow_ops(struct sched_state *st, uint32_t need) {
    uint32_t cap = sched_grown(st->ops_cap, need);
    struct sched_op *ops = realloc(st->ops, cap * sizeof(*ops));
    if (!ops) return -ENOMEM;
    st->ops = ops;
    for (uint32_t i = cap; i-- > st->ops_cap;) {
        ops[i].job = SCHED_NONE;
        ops[i].next = st->free_op;
        st->free_op = i;
    }
    st->ops_cap = cap;
    return 0;
}

static int sched_grow_jobs(struct sched *s, uint32_t need) {
    struct sched_state *st = &s->st;
    uint32_t cap = sched_grown(st->jobs_cap, need);
    if (s->policy->reserve(s->self, cap)) return -ENOMEM;
    struct sched_job *jobs = realloc(st->jobs, cap * sizeof(*jobs));
    if (!jobs) return -ENOMEM;
    st->jobs = jobs;
    for (uint32_t i = cap; i-- > st->jobs_cap;) {
        jobs[i] = (struct sched_job){.next_free = st->free_job};
        st->free_job = i;
    }
    st->jobs_cap = cap;
    return 0;
}

static int sched_reserve(struct sched *s, uint32_t events) {
    struct sched_state *st = &s->st;
    if (events > SCHED_MAX_ENTRIES || st->ops_used + events > SCHED_MAX_ENTRIES ||
        st->jobs_used + events > SCHED_MAX_ENTRIES)
        return -ENOMEM;
    if (st->ops_used + events > st->ops_cap && sched_grow_ops(st, st->ops_used + events))
        return -ENOMEM;
    if (st->ops_used + events > s->actions_cap) {
        uint32_t cap = sched_grown(s->actions_cap, st->ops_used + events);
        struct sched_action *actions = realloc(s->actions, cap * sizeof(*actions));
        if (!actions) return -ENOMEM;
        s->actions = actions;
        s->actions_cap = cap;
    }
    return 0;
}

/* Jobs come rarely: only a batch that brings some pays for looking. */
static int sched_reserve_jobs(struct sched *s, const struct sched_event *events, uint32_t count) {
    uint32_t joined = 0;
    for (uint32_t i = 0; i < count; i++)
        joined += events[i].kind == SCHED_JOINED;
    if (joined == 0) return 0;
    if (jobmap_reserve(&s->st.map, s->st.jobs_used + joined)) return -ENOMEM;
    if (s->st.jobs_used + joined <= s->st.jobs_cap) return 0;
    return sched_grow_jobs(s, s->st.jobs_used + joined);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void sched_append(struct sched_state *st, uint32_t op) {
    struct sched_op *o = &st->ops[op];
    struct sched_job *j = &st->jobs[o->job];
    o->prev = j->tail[o->list];
    o->next = SCHED_NONE;
    if (o->prev == SCHED_NONE)
        j->head[o->list] = op;
    else
        st->ops[o->prev].next = op;
    j->tail[o->list] = op;
    j->waiting++;
    st->waiting++;
}

static void sched_unlink(struct sched_state *st, uint32_t op) {
    struct sched_op *o = &st->ops[op];
    struct sched_job *j = &st->jobs[o->job];
    if (o->prev == SCHED_NONE)
        j->head[o->list] = o->next;
    else
        st->ops[o->prev].next = o->next;
    if (o->next == SCHED_NONE)
        j->tail[o->list] = o->prev;
    else
        st->ops[o->next].prev = o->prev;
    j->waiting--;
    st->waiting--;
}

static void sched_free_op(struct sched_state *st, uint32_t op) {
    st->ops[op].job = SCHED_NONE;
    st->ops[op].next = st->free_op;
    st->free_op = op;
    st->ops_used--;
}

static void sched_free_job(struct sched_state *st, uint32_t job) {
    struct sched_job *j = &st->jobs[job];
    jobmap_remove(&st->map, j->id);
    *j = (struct sched_job){.next_free = st->free_job};
    st->free_job = job;
    st->jobs_used--;
}

/* ---- events ---------------------------------------------------------------------------------- */

static int sched_joined(struct sched *s, const struct sched_event *e) {
    struct sched_state *st = &s->st;
    if (jobmap_find(&st->map, e->job) != JOBMAP_NONE) return -EINVAL;
    uint32_t job = st->free_job;
    struct sched_job *j = &st->jobs[job];
    st->free_job = j->next_free;
    *j = (struct sched_job){
        .id = e->job, .weight = e->spec && e->spec->weight ? e->spec->weight : 1, .used = true};
    for (int list = 0; list < SCHED_LISTS; list++)
        j->head[list] = j->tail[list] = SCHED_NONE;
    st->jobs_used++;
    jobmap_add(&st->map, e->job, job);
    return 0;
}

static void sched_left(struct sched *s, uint32_t job) {
    struct sched_state *st = &s->st;
    struct sched_job *j = &st->jobs[job];
    for (int list = 0; list < SCHED_LISTS; list++)
        for (uint32_t op; (op = j->head[list]) != SCHED_NONE;) {
            sched_unlink(st, op);
            s->policy->dequeue(s->self, st, op);
            sched_free_op(st, op);
        }
    j->left = true;
    if (j->running == 0) sched_free_job(st, job);
}

static void sched_submitted(struct sched *s, uint32_t job, const struct sched_event *e) {
    struct sched_state *st = &s->st;
    uint32_t op = st->free_op;
    struct sched_op *o = &st->ops[op];
    st->free_op = o->next;
    st->ops_used++;
    o->name = e->op;
    o->arrival = st->arrivals++;
    o->job = job;
    o->list = e->counted ? SCHED_COUNTED : SCHED_UNCOUNTED;
    sched_append(st, op);
    s->policy->enqueue(s->self, st, op);
}

static int sched_done(struct sched *s, uint32_t job, const struct sched_event *e) {
    struct sched_state *st = &s->st;
    struct sched_job *j = &st->jobs[job];
    if (j->running == 0 || (e->counted && j->inflight == 0)) return -EINVAL;
    j->running--;
    st->running--;
    if (e->counted) j->inflight--;
    if (j->left && j->running == 0)
        sched_free_job(st, job);
    else
        s->policy->ran(s->self, st, job, e->busy_ns);
    return 0;
}

static int sched_take(struct sched *s, const struct sched_event *e) {
    if (e->kind == SCHED_JOINED) return sched_joined(s, e);
    uint32_t job = jobmap_find(&s->st.map, e->job);
    if (job == JOBMAP_NONE) return -EINVAL;
    if (e->kind == SCHED_DONE) return sched_done(s, job, e);
    if (s->st.jobs[job].left) return -EINVAL;
    if (e->kind == SCHED_LEFT)
        sched_left(s, job);
    else if (e->kind == SCHED_SUBMITTED)
        sched_submitted(s, job, e);
    else
        return -EINVAL;
    return 0;
}

static void sched_run(struct sched *s, uint32_t op) {
    struct sched_state *st = &s->st;
    struct sched_op *o = &st->ops[op];
    struct sched_job *j = &st->jobs[o->job];
    s->actions[s->actions_count++] =
        (struct sched_action){.kind = SCHED_RUN, .job = j->id, .op = o->name};
    sched_unlink(st, op);
    j->running++;
    st->running++;
    if (o->list == SCHED_COUNTED) j->inflight++;
    s->policy->dequeue(s->self, st, op);
    sched_free_op(st, op);
}

int sched_step(struct sched *s, uint64_t now_ns, const struct sched_event *events, uint32_t count,
               struct sched_actions *out) {
    int err = sched_reserve(s, count);
    *out = (struct sched_actions){s->actions, 0};
    if (!err) err = sched_reserve_jobs(s, events, count);
    if (err) return err;
    s->st.now_ns = now_ns;
    s->actions_count = 0;
    for (uint32_t i = 0; i < count && !err; i++)
        err = sched_take(s, &events[i]);
    for (uint32_t op; (op = s->policy->pick(s->self, &s->st)) != SCHED_NONE;)
        sched_run(s, op);
    *out = (struct sched_actions){s->actions, s->actions_count};
#if SCHED_CHECK
    const char *broken = sched_check(s);
    if (broken) {
        fprintf(stderr, "sched: %s\n", broken);
        abort();
    }
#endif
    return err;
}

/* ---- life ------------------------------------------------------------------------------------ */

int sched_create(struct sched **out, const struct sched_config *config, char *why,
                 size_t why_bytes) {
    const struct policy *policy =
        policy_find(config->choice.kernel ? config->choice.kernel : "streams");
    int err = -ENOMEM;
    *out = NULL;
    if (!policy) {
        if (why) snprintf(why, why_bytes, "there is no kernel policy %s", config->choice.kernel);
        return -EINVAL;
    }
    struct sched *s = calloc(1, sizeof(*s));
    if (!s) return -ENOMEM;
    s->policy = policy;
    s->st.cap = config->inflight_cap ? config->inflight_cap : SCHED_DEFAULT_CAP;
    s->st.free_op = s->st.free_job = SCHED_NONE;
    s->self = calloc(1, policy->priv_size ? policy->priv_size : 1);
    if (!s->self) goto fail_self;
    err = policy->init(s->self, &s->st);
    if (err) goto fail_init;
    *out = s;
    return 0;
fail_init:
    free(s->self);
fail_self:
    free(s);
    return err;
}

void sched_destroy(struct sched *s) {
    if (!s) return;
    s->policy->fini(s->self);
    free(s->self);
    jobmap_finish(&s->st.map);
    free(s->st.jobs);
    free(s->st.ops);
    free(s->actions);
    free(s);
}

const struct sched_state *sched_view(const struct sched *s) {
    return &s->st;
}

/* ---- invariants ------------------------------------------------------------------------------ */

static const char *sched_check_job(const struct sched_state *st, uint32_t job) {
    const struct sched_job *j = &st->jobs[job];
    uint32_t waiting = 0;
    if (jobmap_find(&st->map, j->id) != job) return "a job is not found by its id";
    if (j->inflight > st->cap) return "a job has more in flight than the cap";
    if (j->inflight > j->running) return "a job has more in flight than it runs";
    if (j->left && (j->waiting || !j->running)) return "a job that left still holds a place";
    for (int list = 0; list < SCHED_LISTS; list++) {
        uint32_t prev = SCHED_NONE;
        for (uint32_t op = j->head[list]; op != SCHED_NONE; prev = op, op = st->ops[op].next) {
            const struct sched_op *o = &st->ops[op];
            if (o->job != job || (int)o->list != list || o->prev != prev)
                return "an operation is on a list that is not its own";
            if (prev != SCHED_NONE && st->ops[prev].arrival >= o->arrival)
                return "a list is not in order of arrival";
            if (++waiting > st->waiting) return "a list is a circle";
        }
        if (j->tail[list] != prev) return "a list does not end at its tail";
    }
    return waiting == j->waiting ? NULL : "a job's operations were miscounted";
}

const char *sched_check(const struct sched *s) {
    const struct sched_state *st = &s->st;
    uint32_t waiting = 0, running = 0, jobs = 0, ops = 0;
    for (uint32_t i = 0; i < st->jobs_cap; i++) {
        if (!st->jobs[i].used) continue;
        const char *broken = sched_check_job(st, i);
        if (broken) return broken;
        waiting += st->jobs[i].waiting;
        running += st->jobs[i].running;
        jobs++;
    }
    for (uint32_t i = 0; i < st->ops_cap; i++)
        ops += st->ops[i].job != SCHED_NONE;
    if (jobs != st->jobs_used || jobs != st->map.count) return "jobs were miscounted";
    if (waiting != st->waiting || ops != waiting || ops != st->ops_used)
        return "waiting operations were lost";
    if (running != st->running) return "running operations were miscounted";
    if (s->policy->pick(s->self, st) != SCHED_NONE) return "a runnable operation was left waiting";
    return s->policy->check ? s->policy->check(s->self, st) : NULL;
}
