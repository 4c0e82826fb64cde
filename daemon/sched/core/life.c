/* SPDX-License-Identifier: Apache-2.0
 *
 * Creates, destroys, and changes policies. All that can fail happens before the step
 * (life_prepare); the change itself cannot fail.
 */
#include "daemon/sched/core/life.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sched/admission/admit.h"
#include "daemon/sched/core.h"
#include "daemon/sched/core/cap.h"
#include "daemon/sched/core/config.h"
#include "daemon/sched/core/control_loop.h"
#include "daemon/sched/dispatch/policy_memory.h"
#include "daemon/sched/dispatch/ready.h"
#include "daemon/sched/dispatch/share.h"
#include "daemon/sched/dispatch/turn.h"

#define LIFE_CHUNK_BYTES (2ull << 20)
#define LIFE_SMS 80u

static void drop_entry(struct sched_entry *e) {
    policy_memory_drop(e->policy, 0, &e->own);
    free(e->controller_own);
    *e = (struct sched_entry){0};
}

/* Allocates the controller's memory, zeroed. Returns 0 or -ENOMEM. */
static int make_control(struct sched_entry *e) {
    if (!e->controller->own_bytes) return 0;
    e->controller_own = calloc(1, e->controller->own_bytes);
    return e->controller_own ? 0 : -ENOMEM;
}

/* Prepares a configuration. A new kernel policy or controller gets its memory here. Returns 0,
 * -EINVAL or -ENOMEM. */
static int make_entry(const struct sched *s, const struct policy_config *policy,
                      struct sched_entry *out, char *why, size_t why_bytes) {
    struct sched_entry e = {0};
    struct config_named named;
    int err = config_resolve(policy, &e.config, &named, why, why_bytes);
    if (err) return err;
    e.lane_policy = named.lane;
    e.policy = named.kernel;
    e.controller = named.control;
    if (e.controller != s->controller) err = make_control(&e);
    if (!err && e.policy != s->policy) err = policy_memory_make(e.policy, s->st.jobs_cap, &e.own);
    if (err)
        drop_entry(&e);
    else
        *out = e;
    return err;
}

int life_prepare(struct sched *s, const struct sched_event *events, uint32_t count) {
    drop_entry(&s->entry); /* left by a step that ran out of memory */
    for (uint32_t i = count; i-- > 0;) {
        if (events[i].kind != SCHED_POLICY) continue;
        int err = make_entry(s, &events[i].policy, &s->entry, NULL, 0);
        if (err != -EINVAL) return err;
    }
    return 0;
}

void life_preempt(struct sched *s, uint32_t job, bool still) {
    s->st.jobs[job].still = still;
    sched_emit(s, SCHED_STILL, job)->still = still;
}

/* Hands all operations over to the new kernel policy. */
static void enter_jobs(struct sched *s, const struct sched_entry *e) {
    struct sched_state *st = &s->st;
    if (s->policy) policy_memory_drop(s->policy, st->jobs_cap, &st->own);
    for (uint32_t job = 0; job < st->jobs_cap; job++)
        if (st->jobs[job].used && st->jobs[job].still) life_preempt(s, job, false);
    s->policy = e->policy;
    st->own = e->own;
    ready_rebuild(s);
}

static void enter_control(struct sched *s, const struct sched_entry *e) {
    free(s->controller_own);
    s->controller = e->controller;
    s->controller_own = e->controller_own;
    control_loop_change(s);
}

void life_change(struct sched *s) {
    struct sched_state *st = &s->st;
    struct sched_entry e = s->entry;
    if (!e.policy) return;
    s->entry = (struct sched_entry){0};
    s->config = e.config; /* the new policy may read the configuration when it enters */
    share_leave(s);
    if (e.policy != s->policy) enter_jobs(s, &e);
    if (e.controller != s->controller) enter_control(s, &e);
    st->lease_ns = e.config.lease_ns;
    lanes_limit(st->lanes, e.config.max_lanes);
    turn_rebuild(s, e.lane_policy, e.config.exclusive);
    share_enter(s);
    admit_reorder(s);
    for (uint32_t job = 0; job < st->jobs_cap; job++) {
        if (!st->jobs[job].used) continue;
        st->jobs[job].cap = cap_of(st, &st->jobs[job]);
        ready_changed(s, job);
    }
}

int sched_create(struct sched **out, const struct sched_config *config, char *why,
                 size_t why_bytes) {
    uint64_t chunk = config->chunk_bytes ? config->chunk_bytes : LIFE_CHUNK_BYTES;
    uint64_t capacity = config->capacity_bytes ? config->capacity_bytes : 1ull << 60;
    *out = NULL;
    struct sched *s = calloc(1, sizeof(*s));
    if (!s) return -ENOMEM;
    s->st.sms = config->sms ? config->sms : LIFE_SMS;
    s->st.share_sms = config->share_sms ? config->share_sms : 1;
    s->st.slice_ns = config->slice_ns;
    s->st.config = &s->config;
    s->st.free_op = s->st.free_job = SCHED_NONE;
    s->st.pending = s->st.admitted = s->st.grower = s->dirty = SCHED_NONE;
    s->st.free_service = SCHED_NONE;
    s->paced_at = s->period_at = s->steps_at = SCHED_NEVER;
    s->admit_at = s->measure_at = s->idle_at = s->armed_at = SCHED_NEVER;
    s->grow_at = s->part_at = SCHED_NEVER;
    s->releases = 1;
    s->share_users = config->share_users;
    s->one_user = config->one_user;
    int err = lanes_create(&s->st.lanes, capacity, chunk);
    if (!err && s->share_users) lanes_share(s->st.lanes);
    if (!err) err = turn_reserve(&s->st, 0, 1);
    if (!err) err = make_entry(s, &config->policy, &s->entry, why, why_bytes);
    if (err) {
        sched_destroy(s);
        return err;
    }
    life_change(s);
    *out = s;
    return 0;
}

void sched_destroy(struct sched *s) {
    if (!s) return;
    drop_entry(&s->entry);
    if (s->policy) policy_memory_drop(s->policy, s->st.jobs_cap, &s->st.own);
    ranked_finish(&s->st.ranked);
    classes_finish(&s->st.classes);
    lanes_destroy(s->st.lanes);
    slotmap_finish(&s->st.map);
    free(s->st.services);
    free(s->controller_own);
    free(s->st.jobs);
    free(s->st.lane);
    free(s->st.domains);
    free(s->st.ends.items);
    free(s->st.ends.place);
    free(s->st.share.keys);
    free(s->st.share.jobs.items);
    free(s->st.share.jobs.place);
    free(s->st.ops);
    free(s->actions);
    free(s);
}
