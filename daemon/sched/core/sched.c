/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler's one step: take the events in order, let jobs in, give out turns, then run
 * whatever the kernel policy picks. All room that a step can need is reserved before it changes
 * anything, so that running out of memory leaves the state as it was, and a steady state allocates
 * nothing.
 */
#include "daemon/sched/core/sched.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sched/core/parts.h"

#define SCHED_DEFAULT_CHUNK (2ull << 20)
#define SCHED_DEFAULT_SMS 80u
#define SCHED_MAX_ENTRIES (1u << 28)
#define SCHED_ACTIONS_A_JOB \
    9u /* at most: SWAP_OUT, LANE, SWAP_IN, LANE, MOVE, LANE, SPILL, SWITCH, LEVEL */
#define SCHED_ACTIONS_AN_EVENT 4u /* GRANT, LANE, SPILL, SWITCH */
#define SCHED_ACTIONS_A_STEP 64u

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

static int sched_grow_array(void **array, size_t item, uint32_t count) {
    void *grown = realloc(*array, item * count);
    if (!grown) return -ENOMEM;
    *array = grown;
    return 0;
}

static const struct sched_domain sched_new_domain = {.holder = SCHED_NONE, .ready = SCHED_NONE};

static int sched_grow_jobs(struct sched *s, uint32_t need) {
    struct sched_state *st = &s->st;
    uint32_t cap = sched_grown(st->jobs_cap, need);
    if (s->policy->reserve(s->self, cap) || lanes_reserve(st->lanes, cap) ||
        sched_grow_array((void **)&st->lane, sizeof(*st->lane), cap) ||
        sched_grow_array((void **)&st->domains, sizeof(*st->domains), cap + 1) ||
        sched_grow_array((void **)&st->jobs, sizeof(*st->jobs), cap))
        return -ENOMEM;
    for (uint32_t i = cap; i-- > st->jobs_cap;) {
        st->jobs[i] = (struct sched_job){.next_free = st->free_job};
        st->lane[i] = (struct sched_lane){.inside = SCHED_NONE, .last = SCHED_NONE};
        st->free_job = i;
    }
    for (uint32_t i = st->jobs_cap + 1; i <= cap; i++)
        st->domains[i] = sched_new_domain;
    st->jobs_cap = cap;
    return 0;
}

static int sched_reserve_actions(struct sched *s, uint32_t events) {
    const struct sched_state *st = &s->st;
    uint32_t need = st->ops_used + SCHED_ACTIONS_A_JOB * (st->jobs_used + events) +
                    SCHED_ACTIONS_AN_EVENT * events + SCHED_ACTIONS_A_STEP;
    if (need <= s->actions_cap) return 0;
    uint32_t cap = sched_grown(s->actions_cap, need);
    if (sched_grow_array((void **)&s->actions, sizeof(*s->actions), cap)) return -ENOMEM;
    s->actions_cap = cap;
    return 0;
}

static int sched_reserve(struct sched *s, uint32_t events) {
    struct sched_state *st = &s->st;
    if (events > SCHED_MAX_ENTRIES || st->ops_used + events > SCHED_MAX_ENTRIES ||
        st->jobs_used + events > SCHED_MAX_ENTRIES)
        return -ENOMEM;
    if (st->ops_used + events > st->ops_cap && sched_grow_ops(st, st->ops_used + events))
        return -ENOMEM;
    return sched_reserve_actions(s, events);
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
}

static void sched_waits(struct sched_state *st, struct sched_job *j, int change) {
    j->waiting += (uint32_t)change;
    st->waiting += (uint32_t)change;
}

static void sched_free_op(struct sched_state *st, uint32_t op) {
    st->ops[op].job = SCHED_NONE;
    st->ops[op].next = st->free_op;
    st->free_op = op;
    st->ops_used--;
}

/* Nothing of it runs any more, and it left. */
static void sched_end_job(struct sched *s, uint32_t job) {
    struct sched_state *st = &s->st;
    admit_left(s, job);
    jobmap_remove(&st->map, st->jobs[job].id);
    st->jobs[job] = (struct sched_job){.next_free = st->free_job};
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
    *j = (struct sched_job){.id = e->job, .lane = SCHED_NO_LANE, .used = true};
    if (e->spec) j->spec = *e->spec;
    if (!j->spec.weight) j->spec.weight = 1;
    j->cap = cap_of(st, j);
    for (int list = 0; list < SCHED_LISTS; list++)
        j->head[list] = j->tail[list] = SCHED_NONE;
    j->joined_ns = st->now_ns;
    j->node.arrival = st->arrivals++;
    st->jobs_used++;
    jobmap_add(&st->map, e->job, job);
    admit_joined(s, job);
    return 0;
}

static int sched_left(struct sched *s, uint32_t job) {
    struct sched_state *st = &s->st;
    struct sched_job *j = &st->jobs[job];
    for (int list = 0; list < SCHED_RUNNING; list++)
        for (uint32_t op; (op = j->head[list]) != SCHED_NONE;) {
            sched_unlink(st, op);
            sched_waits(st, j, -1);
            s->policy->dequeue(s->self, st, op);
            sched_free_op(st, op);
        }
    j->left = true;
    turn_update(s, job);
    turn_revoke(s, job);
    s->policy->turned(s->self, st, job);
    if (j->running == 0) sched_end_job(s, job);
    return 0;
}

static int sched_submitted(struct sched *s, uint32_t job, const struct sched_event *e) {
    struct sched_state *st = &s->st;
    struct sched_job *j = &st->jobs[job];
    uint32_t op = st->free_op, ahead = e->iteration - j->iteration;
    struct sched_op *o = &st->ops[op];
    if (ahead > 1) return -EINVAL;
    st->free_op = o->next;
    st->ops_used++;
    o->name = e->op;
    o->arrival = st->arrivals++;
    o->kernel = e->kernel;
    o->job = job;
    o->list = state_list(e->iteration, e->kernel ? SCHED_KERNEL : SCHED_MEMORY);
    sched_append(st, op);
    sched_waits(st, j, 1);
    if (!ahead) request_begin(st, j);
    s->policy->enqueue(s->self, st, op);
    if (!j->turn && !ahead) turn_update(s, job);
    return 0;
}

/* Operations end nearly in the order in which they were sent: the first look finds most. */
static uint32_t sched_running(const struct sched_state *st, uint32_t job, uint64_t name) {
    uint32_t op = st->jobs[job].head[SCHED_RUNNING];
    while (op != SCHED_NONE && st->ops[op].name != name)
        op = st->ops[op].next;
    return op;
}

static int sched_done(struct sched *s, uint32_t job, const struct sched_event *e) {
    struct sched_state *st = &s->st;
    struct sched_job *j = &st->jobs[job];
    uint32_t op = sched_running(st, job, e->op);
    if (op == SCHED_NONE) return -EINVAL;
    sched_unlink(st, op);
    request_mixed(st);
    st->active -= --j->running == 0;
    st->running--;
    j->done_ns = st->now_ns;
    if (st->ops[op].kernel) j->kernels_ns += st->ops[op].kernel->mean_ns;
    cap_learn(st, j, e->busy_ns);
    j->busy_ns += e->busy_ns;
    j->iteration_busy_ns += e->busy_ns;
    st->lane[j->lane].busy_ns += e->busy_ns;
    j->number = s->lane_policy->charge(st, job, e->busy_ns);
    if (j->running == 0 && j->revoked) turn_idle(s, job);
    s->policy->ended(s->self, st, op);
    sched_free_op(st, op);
    if (j->left && j->running == 0) sched_end_job(s, job);
    return 0;
}

/* From turn to boundary. What a job leaves of the device shows only while nobody else uses it. */
static void sched_lap(struct sched_state *st, struct sched_job *j) {
    uint64_t lap_ns = st->now_ns - j->turn_ns;
    j->lap_ns = state_mean(j->lap_ns, lap_ns);
    if (st->turns > 1 || st->crowded_ns > j->turn_ns) return;
    j->alone_ns += lap_ns;
    j->alone_busy_ns += j->iteration_busy_ns;
}

static int sched_boundary(struct sched *s, uint32_t job) {
    struct sched_state *st = &s->st;
    struct sched_job *j = &st->jobs[job];
    if (!j->admitted || j->running || state_wants(j)) return -EINVAL;
    j->iterations++;
    j->iteration_ns = state_mean(j->iteration_ns, j->iteration_busy_ns);
    if (j->turn) sched_lap(st, j);
    request_end(st, j);
    if (s->policy->iterated) s->policy->iterated(s->self, st, job);
    j->iteration_busy_ns = 0;
    j->iteration++;
    turn_boundary(s, job);
    admit_boundary(s, job);
    turn_update(s, job);
    return 0;
}

static int sched_set(struct sched *s, uint32_t job, const struct sched_spec *spec) {
    struct sched_spec *mine = &s->st.jobs[job].spec;
    bool paused = spec->paused && !mine->paused;
    mine->weight = spec->weight ? spec->weight : 1;
    mine->priority = spec->priority;
    mine->paused = spec->paused;
    mine->iterations = spec->iterations;
    mine->duration_ns = spec->duration_ns;
    mine->request_ns = spec->request_ns;
    s->st.jobs[job].cap = cap_of(&s->st, &s->st.jobs[job]);
    if (paused) turn_revoke(s, job);
    turn_requeue(s, job);
    admit_moved(s, job);
    s->policy->turned(s->self, &s->st, job);
    return 0;
}

static int sched_take(struct sched *s, const struct sched_event *e) {
    if (e->kind == SCHED_TIME) return 0;
    if (e->kind == SCHED_JOINED) return sched_joined(s, e);
    uint32_t job = jobmap_find(&s->st.map, e->job);
    if (job == JOBMAP_NONE) return -EINVAL;
    if (e->kind == SCHED_DONE) return sched_done(s, job, e);
    if (s->st.jobs[job].left) return -EINVAL;
    switch (e->kind) {
    case SCHED_LEFT: return sched_left(s, job);
    case SCHED_SUBMITTED: return sched_submitted(s, job, e);
    case SCHED_BOUNDARY: return sched_boundary(s, job);
    case SCHED_ASKED: admit_asked(s, job, e->spec); return 0;
    case SCHED_WORD: admit_word(s, job, e->spec); return 0;
    case SCHED_SET: return sched_set(s, job, e->spec);
    default: return -EINVAL;
    }
}

/* Stream priorities (Orion, section 5.1.2), said when they begin to matter. */
static void sched_level(struct sched *s, uint32_t job) {
    struct sched_job *j = &s->st.jobs[job];
    uint8_t level = s->choice.priorities && state_high(j);
    if (level == j->level) return;
    j->level = level;
    sched_emit(s, SCHED_LEVEL, job)->level = level;
}

static void sched_run(struct sched *s, uint32_t op) {
    struct sched_state *st = &s->st;
    struct sched_op *o = &st->ops[op];
    struct sched_job *j = &st->jobs[o->job];
    sched_level(s, o->job);
    sched_emit(s, SCHED_RUN, o->job)->op = o->name;
    sched_unlink(st, op);
    sched_waits(st, j, -1);
    o->list = SCHED_RUNNING;
    sched_append(st, op);
    st->active += j->running++ == 0;
    st->running++;
    request_mixed(st);
    s->policy->started(s->self, st, op);
}

static void sched_arm(struct sched *s) {
    uint64_t at = s->lease_at < s->admit_at ? s->lease_at : s->admit_at;
    if (s->measure_at < at) at = s->measure_at;
    if (s->policy->wake) {
        uint64_t wake_at = s->policy->wake(s->self, &s->st);
        if (wake_at < at) at = wake_at;
    }
    if (at == s->armed_at) return;
    s->armed_at = at;
    if (at != SCHED_NEVER) sched_emit(s, SCHED_ARM, SCHED_NONE)->at_ns = at;
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
    admit_run(s);
    turn_run(s);
    for (uint32_t op; (op = s->policy->pick(s->self, &s->st)) != SCHED_NONE;)
        sched_run(s, op);
    sched_arm(s);
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

/* All waiting operations are the new policy's. */
static int sched_enter(struct sched *s, const struct policy *policy) {
    struct sched_state *st = &s->st;
    void *self = calloc(1, policy->priv_size ? policy->priv_size : 1);
    if (!self) return -ENOMEM;
    int err = policy->init(self, st);
    if (!err && st->jobs_cap) err = policy->reserve(self, st->jobs_cap);
    if (err) {
        free(self);
        return err;
    }
    for (uint32_t job = 0; job < st->jobs_cap; job++)
        for (int list = 0; st->jobs[job].used && list < SCHED_LISTS; list++)
            for (uint32_t op = st->jobs[job].head[list]; op != SCHED_NONE; op = st->ops[op].next)
                if (list == SCHED_RUNNING)
                    policy->started(self, st, op);
                else
                    policy->enqueue(self, st, op);
    if (s->policy) s->policy->fini(s->self);
    free(s->self);
    s->policy = policy;
    s->self = self;
    return 0;
}

int sched_choose(struct sched *s, const struct sched_choice *choice, char *why, size_t why_bytes) {
    const struct lane_policy *lane;
    const struct policy *kernel;
    struct sched_choice next;
    int err = choice_resolve(choice, &next, &lane, &kernel, why, why_bytes);
    if (err) return err;
    struct sched_choice before = s->choice;
    s->choice = next; /* what a policy that enters goes by */
    if (kernel != s->policy) err = sched_enter(s, kernel);
    if (err) {
        s->choice = before;
        return err;
    }
    s->st.lease_ns = next.lease_ns;
    lanes_limit(s->st.lanes, next.max_lanes);
    turn_rebuild(s, lane, next.exclusive);
    admit_reorder(s);
    for (uint32_t job = 0; job < s->st.jobs_cap; job++) {
        if (!s->st.jobs[job].used) continue;
        s->st.jobs[job].cap = cap_of(&s->st, &s->st.jobs[job]);
        s->policy->turned(s->self, &s->st, job);
    }
    return 0;
}

int sched_create(struct sched **out, const struct sched_config *config, char *why,
                 size_t why_bytes) {
    uint64_t chunk = config->chunk_bytes ? config->chunk_bytes : SCHED_DEFAULT_CHUNK;
    uint64_t capacity = config->capacity_bytes ? config->capacity_bytes : 1ull << 60;
    *out = NULL;
    struct sched *s = calloc(1, sizeof(*s));
    if (!s) return -ENOMEM;
    s->st.sms = config->sms ? config->sms : SCHED_DEFAULT_SMS;
    s->st.choice = &s->choice;
    s->st.free_op = s->st.free_job = SCHED_NONE;
    s->st.pending = s->st.admitted = s->st.measuring = s->dirty = SCHED_NONE;
    s->lease_at = s->admit_at = s->measure_at = s->armed_at = SCHED_NEVER;
    s->releases = 1;
    s->share_users = config->share_users;
    int err = lanes_create(&s->st.lanes, capacity, chunk);
    if (!err && s->share_users) lanes_share(s->st.lanes);
    if (!err) err = sched_grow_array((void **)&s->st.domains, sizeof(*s->st.domains), 1);
    if (!err) s->st.domains[0] = sched_new_domain;
    if (!err) err = sched_choose(s, &config->choice, why, why_bytes);
    if (err) {
        sched_destroy(s);
        return err;
    }
    *out = s;
    return 0;
}

void sched_destroy(struct sched *s) {
    if (!s) return;
    if (s->policy) s->policy->fini(s->self);
    free(s->self);
    lanes_destroy(s->st.lanes);
    jobmap_finish(&s->st.map);
    free(s->st.jobs);
    free(s->st.lane);
    free(s->st.domains);
    free(s->st.ops);
    free(s->actions);
    free(s);
}
