/* SPDX-License-Identifier: Apache-2.0
 *
 * What the worker is told counts at once here and is taken back when it says that it could not.
 */
#include "daemon/broker/control/change.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/log.h"
#include "daemon/broker/config/choice.h"
#include "daemon/broker/control/report.h"
#include "daemon/broker/control/report_job.h"
#include "proto/job.h"

struct change {
    struct list link;
    struct control *asker; /* NULL: nobody waits for the answer */
    uint32_t job_id;       /* 0: of the policy */
    struct wire_job job_before, job;
    struct wire_choice choice_before, choice;
};

bool change_permitted(uid_t uid) {
    return limits_admin(uid);
}

/* ---- telling the worker ---------------------------------------------------------------------- */

static struct change *add_change(struct server *s, struct control *asker) {
    struct change *c = calloc(1, sizeof(*c));

    if (!c) return NULL;
    c->asker = asker;
    list_append(&s->supervise.changes, &c->link);
    return c;
}

static void free_change(struct change *c) {
    list_remove(&c->link);
    free(c);
}

static int tell_job(struct server *s, struct attachment *a, const struct wire_job *job,
                    struct control *asker) {
    struct change *c = add_change(s, asker);

    if (!c) return -ENOMEM;
    c->job_id = a->job_id;
    c->job_before = a->job;
    c->job = a->job = *job;
    supervise_set_job(s, a); /* where it fails the worker is lost, and change_lost answers */
    return 1;
}

static int tell_choice(struct server *s, const struct wire_choice *choice, struct control *asker) {
    struct change *c = add_change(s, asker);

    if (!c) return -ENOMEM;
    c->choice_before = s->supervise.told;
    c->choice = s->choice = s->supervise.told = *choice;
    supervise_set_policy(s, choice);
    return 1;
}

void change_sync_policy(struct server *s) {
    if (s->supervise.state != SUPERVISE_READY ||
        memcmp(&s->supervise.told, &s->choice, sizeof(s->choice)) == 0)
        return;
    if (tell_choice(s, &s->choice, NULL) < 0) log_error("policy", "event=not-told why=memory");
}

/* ---- its answer ------------------------------------------------------------------------------ */

static void take_back(struct server *s, const struct change *c) {
    struct attachment *a = c->job_id ? supervise_find(s, c->job_id) : NULL;

    if (a && memcmp(&a->job, &c->job, sizeof(a->job)) == 0) a->job = c->job_before;
    if (c->job_id == 0 && memcmp(&s->choice, &c->choice, sizeof(s->choice)) == 0)
        s->choice = s->supervise.told = c->choice_before;
}

static void log_change(const struct change *c, int result, const char *text) {
    enum log_level level = result < 0 ? LOG_WARN : LOG_INFO;
    char end[sizeof(((struct wire_worker_msg *)0)->text) + 40];

    snprintf(end, sizeof(end), result < 0 ? "error=%s why=\"%s\"" : "result=ok", err_name(result),
             text);
    if (c->job_id)
        log_write("client", level, "event=set job=%u weight=%u priority=%d paused=%d %s", c->job_id,
                  c->job.weight, c->job.priority, !!(c->job.flags & WIRE_JOB_PAUSED), end);
    else
        log_each("policy", level, "event=set lane=%s kernel=%s swap=%d %s", c->choice.lane,
                 c->choice.kernel, (int)c->choice.swap, end);
}

int change_did(struct server *s, const struct wire_worker_msg *msg) {
    struct list *oldest = s->supervise.changes.next;
    struct change *c = list_entry(oldest, struct change, link);
    const char *text = *msg->text ? msg->text : err_text(msg->result);

    if (list_empty(&s->supervise.changes)) return ERR_PROTOCOL;
    log_change(c, msg->result, text);
    if (msg->result < 0) take_back(s, c);
    if (c->asker) control_done(c->asker, msg->result, text);
    free_change(c);
    return 0;
}

void change_lost(struct server *s, const char *why) {
    struct list *list = &s->supervise.changes;
    char text[CTL_TEXT_BYTES];

    snprintf(text, sizeof(text), "the GPU worker is gone: %s", why);
    while (!list_empty(list)) {
        struct change *c = list_entry(list->next, struct change, link);

        if (c->job_id) take_back(s, c); /* the choice is for the next worker as well */
        if (c->asker) control_done(c->asker, ERR_WORKER_LOST, text);
        free_change(c);
    }
}

void change_forget(struct server *s, const struct control *asker) {
    struct list *pos;

    list_each(pos, &s->supervise.changes) {
        struct change *c = list_entry(pos, struct change, link);

        if (c->asker == asker) c->asker = NULL;
    }
}

/* ---- the verbs ------------------------------------------------------------------------------- */

/* A request in work, and where its reply goes. */
struct asking {
    struct server *s;
    const struct ctl_request *r;
    uid_t uid;
    struct control *asker;
    struct ctl_out *out;
    const void **bytes;
    size_t *n;
};

static int refuse(const struct asking *q, enum ctl_error error, const char *text,
                  const char *hint) {
    return ctl_msg_refusal(q->out, error, text, hint, q->bytes, q->n);
}

static int set_policy(const struct asking *q) {
    struct wire_choice choice = q->s->choice;
    union ctl_any any;
    char why[CHOICE_WHY_BYTES];

    if (!change_permitted(q->uid))
        return refuse(q, CTL_E_NOT_PERMITTED, "only root and the daemon's user set the policy",
                      "see salusctl(1)");
    if ((q->r->given & ~(1ull << CTL_A_dry_run)) == 0)
        return refuse(q, CTL_E_BAD_REQUEST, "nothing is given that could be set",
                      "see 'salusctl policy show'");
    if (choice_change(&choice, q->r, why) < 0)
        return refuse(q, CTL_E_BAD_REQUEST, why, "see 'salusctl policy list'");
    if (q->r->args.dry_run) {
        choice_show(&choice, 0, &any.choice);
        ctl_msg_add(q->out, CTL_RECORD_CHOICE, &any);
        return ctl_msg_reply(q->out, 0, q->bytes, q->n);
    }
    if (q->s->supervise.state != SUPERVISE_READY)
        return refuse(q, CTL_E_FAILED, "the GPU worker is not running", "see 'salusctl status'");
    return tell_choice(q->s, &choice, q->asker);
}

static int retry(const struct asking *q) {
    if (!change_permitted(q->uid))
        return refuse(q, CTL_E_NOT_PERMITTED, "only root and the daemon's user start the worker",
                      "see salusctl(1)");
    if (q->r->args.id == 0) supervise_retry(q->s); /* there is one */
    return report_answer(q->s, q->r, q->uid, q->out, q->bytes, q->n);
}

static bool out_of_range(char *why, const char *what, int64_t value, int64_t least, int64_t most) {
    if (value >= least && value <= most) return false;
    snprintf(why, JOB_WHY_BYTES, "%s: %" PRId64 " is not from %" PRId64 " to %" PRId64, what, value,
             least, most);
    return true;
}

/* Whether the asker may not give its job this. */
static bool outranks(const struct asking *q, char *why) {
    const struct ctl_args *a = &q->r->args;
    struct user *u = users_find(q->s, q->uid);
    int64_t priority = ctl_msg_given(q->r, CTL_A_priority) ? a->priority : 0;
    uint64_t weight = ctl_msg_given(q->r, CTL_A_weight) ? a->weight : 0;

    if (weight > JOB_WEIGHT_MAX) weight = 0; /* which is refused anyway */
    return u && users_check_rank(u, priority, weight, why) < 0;
}

/* What the request makes of the job; false with a reason when it may not be. */
static bool alter(const struct ctl_request *r, struct wire_job *job, char *why) {
    const struct ctl_args *a = &r->args;
    struct wire_job bare;

    if (ctl_msg_given(r, CTL_A_weight)) {
        if (out_of_range(why, "weight", (int64_t)a->weight, 1, JOB_WEIGHT_MAX)) return false;
        job->weight = (uint32_t)a->weight;
    }
    if (ctl_msg_given(r, CTL_A_priority)) {
        if (out_of_range(why, "priority", a->priority, -JOB_PRIORITY_MAX, JOB_PRIORITY_MAX))
            return false;
        job->priority = (int32_t)a->priority;
    }
    if (ctl_msg_given(r, CTL_A_iterations)) job->iterations = a->iterations;
    if (ctl_msg_given(r, CTL_A_duration_ns)) job->duration_ns = a->duration_ns;
    if (ctl_msg_given(r, CTL_A_request_ns)) job->request_ns = a->request_ns;
    if (r->verb == CTL_V_JOB_PAUSE) job->flags |= WIRE_JOB_PAUSED;
    if (r->verb == CTL_V_JOB_RESUME) job->flags &= ~WIRE_JOB_PAUSED;
    bare = *job;
    bare.flags &= ~WIRE_JOB_PAUSED; /* which no client may say */
    return job_check(&bare, why) == 0;
}

static int kill_job(const struct asking *q, struct attachment *a) {
    union ctl_any any;

    client_kill(a->client, q->uid); /* the attachment stays until the worker lets go of it */
    if (!supervise_find(q->s, (uint32_t)q->r->args.id))
        return refuse(q, CTL_E_FAILED, "the GPU worker is gone", "see 'salusctl status'");
    report_job(a, &any.job);
    ctl_msg_add(q->out, CTL_RECORD_JOB, &any);
    return ctl_msg_reply(q->out, 0, q->bytes, q->n);
}

static int change_job(const struct asking *q) {
    uint64_t id = q->r->args.id;
    struct attachment *a = id <= UINT32_MAX ? supervise_find(q->s, (uint32_t)id) : NULL;
    char why[JOB_WHY_BYTES], above[USERS_WHY_BYTES];
    struct wire_job job;

    if (!a || !a->client) {
        snprintf(why, sizeof(why), "job %" PRIu64 ": no such job%s", id, a ? " any more" : "");
        return refuse(q, CTL_E_NOT_FOUND, why, "see 'salusctl job list'");
    }
    if (a->uid != q->uid && !change_permitted(q->uid)) {
        snprintf(why, sizeof(why), "job %" PRIu64 " belongs to another user", id);
        return refuse(q, CTL_E_NOT_PERMITTED, why, "root may change it");
    }
    if (q->r->verb == CTL_V_JOB_KILL) return kill_job(q, a);
    if (a->client->state != CLIENT_RUNNING) {
        snprintf(why, sizeof(why), "job %" PRIu64 " is only starting", id);
        return refuse(q, CTL_E_FAILED, why, "try again");
    }
    if (q->r->verb == CTL_V_JOB_SET && q->r->given == 1ull << CTL_A_id)
        return refuse(q, CTL_E_BAD_REQUEST, "nothing is given that could be set",
                      "see salusctl(1)");
    job = a->job;
    if (!alter(q->r, &job, why))
        return refuse(q, CTL_E_BAD_REQUEST, why, "see 'salusctl job show'");
    if (outranks(q, above))
        return refuse(q, CTL_E_NOT_PERMITTED, above, "see 'salusctl tenant list'");
    return tell_job(q->s, a, &job, q->asker);
}

int change_start(struct server *s, const struct ctl_request *r, uid_t uid, struct control *asker,
                 struct ctl_out *out, const void **bytes, size_t *n) {
    struct asking q = {
        .s = s, .r = r, .uid = uid, .asker = asker, .out = out, .bytes = bytes, .n = n};

    switch (r->verb) {
    case CTL_V_POLICY_SET: return set_policy(&q);
    case CTL_V_GPU_RETRY: return retry(&q);
    default: return change_job(&q);
    }
}
