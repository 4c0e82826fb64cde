/* SPDX-License-Identifier: Apache-2.0
 *
 * Verbs of jobs, running and ended. A job's user may change it, as may root and the daemon's user.
 */
#include "daemon/broker/control/verb_job.h"

#include <inttypes.h>
#include <stdio.h>

#include "daemon/broker/clients/disconnect.h"
#include "daemon/broker/clients/places.h"
#include "daemon/broker/jobs/overdue.h"
#include "daemon/broker/jobs/report_job.h"
#include "proto/wire/job.h"

/* ---- showing --------------------------------------------------------------------------------- */

/* Adds the job's record, without what the requester may not read. */
static bool add_job(struct control_request *q, const struct gpu *g, const struct attachment *a) {
    const struct broker *b = q->broker;
    struct ctl_job r;

    report_job(a, &r);
    overdue_explain(&g->attachments, a, b->config.overdue, q->uid, &r);
    report_job_hide(q->uid, &r);
    return ctl_msg_add(q->out, CTL_RECORD_JOB, &r);
}

/* Returns the job that the request names and its GPU, or NULL; never the trial job (life/trial.h).
 */
static struct attachment *find(const struct control_request *q, struct gpu **g) {
    return gpus_find_job(&q->broker->gpus, q->request->args.id, g);
}

/* Reports a client that waits for a place and has no GPU yet. */
static void report_queued(const struct client *c, struct ctl_job *r) {
    const struct attachment a = {
        .job_id = c->job_id, .client = (struct client *)c, .job = c->job, .welcomed = true};

    report_job(&a, r);
    r->position = places_explain(c, r->why, sizeof(r->why));
    snprintf(r->state, sizeof(r->state), "waiting");
}

static bool add_queued(struct control_request *q, const struct client *c) {
    struct ctl_job r;

    report_queued(c, &r);
    report_job_hide(q->uid, &r);
    return ctl_msg_add(q->out, CTL_RECORD_JOB, &r);
}

/* Returns the waiting client with this job number; NULL: there is none. */
static struct client *find_queued(const struct control_request *q, uint64_t id) {
    struct client *c = id ? places_next(&q->broker->clients, id - 1) : NULL;

    return c && c->job_id == id ? c : NULL;
}

int verb_job_list(struct control_request *q) {
    uint64_t last = q->request->args.after;
    struct attachment *a;
    const struct client *c;
    struct gpu *g;
    bool added;

    for (;;) {
        a = gpus_job_after(&q->broker->gpus, last, &g);
        c = places_next(&q->broker->clients, last);
        if (!a && !c) return control_request_reply(q, 0);
        bool is_admitted = a && (!c || a->job_id < c->job_id);
        if (is_admitted)
            added = !attachments_is_used(a) || add_job(q, g, a);
        else
            added = add_queued(q, c);
        if (!added) return control_request_reply(q, last);
        last = is_admitted ? a->job_id : c->job_id;
    }
}

int verb_job_show(struct control_request *q) {
    struct gpu *g;
    const struct attachment *a = find(q, &g);
    const struct client *c = find_queued(q, q->request->args.id);

    if (!a && !c) return control_request_not_found(q, "job", "job");
    if (a)
        add_job(q, g, a);
    else
        add_queued(q, c);
    return control_request_reply(q, 0);
}

int verb_history_list(struct control_request *q) {
    uint64_t after = q->request->args.after;

    return control_request_reply(q, history_list(q->broker->history, after, q->uid, q->out));
}

/* ---- changing -------------------------------------------------------------------------------- */

/* Returns the job if the requester may change it; else NULL, with the refusal's result in *err. */
static struct attachment *find_own(struct control_request *q, struct gpu **g, int *err) {
    struct attachment *a = find(q, g);
    uint64_t id = q->request->args.id;
    char why[80];

    if (!a || !a->client) {
        snprintf(why, sizeof(why), "salusd has no job %" PRIu64 "%s", id, a ? " any more" : "");
        *err = control_request_refuse(q, CTL_E_NOT_FOUND, why, "see 'salusctl job list'");
        return NULL;
    }
    if (a->job.uid == q->uid || control_request_admin(q)) return a;
    snprintf(why, sizeof(why), "job %" PRIu64 " belongs to another user", id);
    *err = control_request_refuse(q, CTL_E_NOT_PERMITTED, why,
                                  "only root, the daemon's user and the job's user may change it");
    return NULL;
}

static bool out_of_range(char *why, const char *what, int64_t value, int64_t least, int64_t most) {
    if (value >= least && value <= most) return false;
    snprintf(why, JOB_WHY_BYTES, "%s: %" PRId64 " is not from %" PRId64 " to %" PRId64, what, value,
             least, most);
    return true;
}

/* The requester may not give the job this priority, target or weight. */
static bool outranks(const struct control_request *q, char *why) {
    const struct ctl_args *a = &q->request->args;
    struct user *u = users_find(&q->broker->users, q->uid);
    int64_t priority = ctl_msg_given(q->request, CTL_A_priority) ? a->priority : 0;
    bool slo = ctl_msg_given(q->request, CTL_A_slo_ns) && a->slo_ns;
    uint64_t weight = ctl_msg_given(q->request, CTL_A_weight) ? a->weight : 0;

    if (weight > JOB_WEIGHT_MAX) weight = 0; /* refused in any case */
    return u && users_check_rank(u, users_rank(priority, slo), weight, why) < 0;
}

/* Applies job.set's arguments. Returns false with the reason if one is invalid. */
static bool alter(const struct ctl_request *r, struct wire_job *spec, char *why) {
    const struct ctl_args *a = &r->args;
    struct wire_job bare;

    if (ctl_msg_given(r, CTL_A_weight)) {
        if (out_of_range(why, "weight", (int64_t)a->weight, 1, JOB_WEIGHT_MAX)) return false;
        spec->weight = (uint32_t)a->weight;
    }
    if (ctl_msg_given(r, CTL_A_priority)) {
        if (out_of_range(why, "priority", a->priority, -JOB_PRIORITY_MAX, JOB_PRIORITY_MAX))
            return false;
        spec->priority = (int32_t)a->priority;
    }
    if (ctl_msg_given(r, CTL_A_iterations)) spec->iterations = a->iterations;
    if (ctl_msg_given(r, CTL_A_duration_ns)) spec->duration_ns = a->duration_ns;
    if (ctl_msg_given(r, CTL_A_request_ns)) spec->request_ns = a->request_ns;
    if (ctl_msg_given(r, CTL_A_slo_ns)) spec->slo_ns = a->slo_ns;
    if (ctl_msg_given(r, CTL_A_slo_of) && out_of_range(why, "slo_of", (int64_t)a->slo_of, 0, 3))
        return false;
    if (ctl_msg_given(r, CTL_A_slo_of)) spec->slo_of = (uint32_t)a->slo_of;
    bare = *spec;
    bare.flags &= ~WIRE_JOB_PAUSED; /* a client may not set it */
    return job_check(&bare, why) == 0;
}

/* Tells the worker the changed job, with these flags set and cleared. */
static int change(struct control_request *q, struct gpu *g, struct attachment *a, uint32_t set,
                  uint32_t clear) {
    struct wire_job spec = a->job.spec;
    char why[JOB_WHY_BYTES], above[USERS_WHY_BYTES];
    int err;

    if (!a->welcomed) {
        snprintf(why, sizeof(why), "job %u is still starting", a->job_id);
        return control_request_refuse(q, CTL_E_FAILED, why, "try again");
    }
    if (q->request->verb == CTL_V_job_set && q->request->given == 1ull << CTL_A_id)
        return control_request_refuse(q, CTL_E_BAD_REQUEST, "the request names nothing to set",
                                      "see salusctl(1)");
    spec.flags = (spec.flags | set) & ~clear;
    if (!alter(q->request, &spec, why))
        return control_request_refuse(q, CTL_E_BAD_REQUEST, why, "see 'salusctl job show'");
    if (outranks(q, above))
        return control_request_refuse(q, CTL_E_NOT_PERMITTED, above, "see 'salusctl user list'");
    err = changes_job(&g->changes, a, &spec, q->requester);
    return err > 0 ? verb_job_show(q) : err < 0 ? err : 1;
}

int verb_job_set(struct control_request *q) {
    int err;
    struct gpu *g;
    struct attachment *a = find_own(q, &g, &err);

    return a ? change(q, g, a, 0, 0) : err;
}

int verb_job_pause(struct control_request *q) {
    int err;
    struct gpu *g;
    struct attachment *a = find_own(q, &g, &err);

    return a ? change(q, g, a, WIRE_JOB_PAUSED, 0) : err;
}

int verb_job_resume(struct control_request *q) {
    int err;
    struct gpu *g;
    struct attachment *a = find_own(q, &g, &err);

    return a ? change(q, g, a, 0, WIRE_JOB_PAUSED) : err;
}

static int kill_queued(struct control_request *q, struct client *c) {
    struct ctl_job r;
    char why[80];

    snprintf(why, sizeof(why), "job %u belongs to another user", c->job_id);
    if (c->job.uid != q->uid && !control_request_admin(q))
        return control_request_refuse(q, CTL_E_NOT_PERMITTED, why,
                                      "only root, the daemon's user and the job's user may end it");
    report_queued(c, &r);
    snprintf(r.state, sizeof(r.state), "ending");
    disconnect_kill(c, q->uid);
    return control_request_record(q, CTL_RECORD_JOB, &r);
}

/* Kills a job. The attachment stays until the worker releases it. */
int verb_job_kill(struct control_request *q) {
    int err;
    struct gpu *g;
    struct client *c = find_queued(q, q->request->args.id);
    struct attachment *a;
    struct ctl_job r;

    if (c) return kill_queued(q, c);
    a = find_own(q, &g, &err);
    if (!a) return err;
    disconnect_kill(a->client, q->uid);
    a = find(q, &g);
    if (!a)
        return control_request_refuse(q, CTL_E_FAILED, "the GPU worker ended",
                                      "see 'salusctl status'");
    report_job(a, &r);
    return control_request_record(q, CTL_RECORD_JOB, &r);
}
