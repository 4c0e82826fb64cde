/* SPDX-License-Identifier: Apache-2.0
 *
 * Each change remembers the previous state.
 */
#include "daemon/broker/gpu/changes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/log.h"
#include "daemon/policy/parameters.h"
#include "proto/wire/job.h"

struct change {
    struct list link;
    struct control *requester; /* NULL: nobody waits for the answer */
    uint32_t job_id;           /* 0: a change of the policy */
    struct wire_job job_before, job;
    struct policy_config policy_before, policy;
};

void changes_init(struct changes *all, const struct policy_config *policy,
                  struct attachments *attachments, struct worker *worker) {
    list_init(&all->list);
    all->policy = *policy;
    all->attachments = attachments;
    all->worker = worker;
}

static void log_change(const struct change *c, int result, const char *text) {
    enum log_level level = result < 0 ? LOG_WARN : LOG_INFO;
    char end[sizeof(((struct wire_worker_msg *)0)->text) + 40];

    snprintf(end, sizeof(end), result < 0 ? "error=%s why=\"%s\"" : "result=ok", err_name(result),
             text);
    if (c->job_id)
        log_write("client", level, "event=set job=%u%s weight=%u priority=%d paused=%d %s",
                  c->job_id, c->job.flags & WIRE_JOB_NULL ? " " JOB_TAG : "", c->job.weight,
                  c->job.priority, !!(c->job.flags & WIRE_JOB_PAUSED), end);
    else
        log_each("policy", level, "event=set lane=%s kernel=%s control=%s swap=%d %s",
                 c->policy.lane, c->policy.kernel, c->policy.control, (int)c->policy.swap, end);
}

/* ---- telling the worker ---------------------------------------------------------------------- */

static struct change *add_change(struct changes *all, struct control *requester) {
    struct change *c = calloc(1, sizeof(*c));

    if (!c) return NULL;
    c->requester = requester;
    list_append(&all->list, &c->link);
    return c;
}

static void free_change(struct change *c) {
    list_remove(&c->link);
    free(c);
}

/* If telling fails, the worker is lost and changes_lost answers. */
int changes_job(struct changes *all, struct attachment *a, const struct wire_job *spec,
                struct control *requester) {
    struct change *c;

    if (a->place == ATTACHMENT_ORPHAN) {
        a->job.spec = *spec;
        log_change(&(struct change){.job_id = a->job_id, .job = *spec}, 0, "");
        return 1;
    }
    c = add_change(all, requester);
    if (!c) return -ENOMEM;
    c->job_id = a->job_id;
    c->job_before = a->job.spec;
    c->job = a->job.spec = *spec;
    attachments_set(all->attachments, a);
    return 0;
}

int changes_policy(struct changes *all, const struct policy_config *policy,
                   struct control *requester) {
    struct wire_worker_msg msg = {.kind = WIRE_SET_POLICY, .policy = *policy};
    struct change *c = add_change(all, requester);

    if (!c) return -ENOMEM;
    c->policy_before = all->told;
    c->policy = all->policy = all->told = *policy;
    channel_tell(&all->worker->channel, &msg, NULL, 0);
    return 0;
}

void changes_configure(struct changes *all, const struct policy_config *policy) {
    all->policy = *policy;
    changes_ready(all);
}

void changes_started(struct changes *all) {
    all->told = all->policy;
}

void changes_ready(struct changes *all) {
    if (!worker_ready(all->worker) || parameters_same(&all->told, &all->policy)) return;
    if (changes_policy(all, &all->policy, NULL) < 0)
        log_error("policy", "event=policy-not-sent why=\"out of memory\" text=\"the worker keeps "
                            "its previous policy\"");
}

/* ---- the worker's answer -------------------------------------------------------------------- */

static void take_back(struct changes *all, const struct change *c) {
    struct attachment *a = c->job_id ? attachments_find(all->attachments, c->job_id) : NULL;

    if (a && memcmp(&a->job.spec, &c->job, sizeof(c->job)) == 0) a->job.spec = c->job_before;
    if (c->job_id == 0 && parameters_same(&all->policy, &c->policy))
        all->policy = all->told = c->policy_before;
}

int changes_did(struct changes *all, const struct wire_worker_msg *msg,
                struct control **requester) {
    struct change *c = list_entry(all->list.next, struct change, link);

    if (list_empty(&all->list)) return ERR_PROTOCOL;
    log_change(c, msg->result, *msg->text ? msg->text : err_text(msg->result));
    if (msg->result < 0) take_back(all, c);
    *requester = c->requester;
    free_change(c);
    return 0;
}

bool changes_lost(struct changes *all, struct control **requester) {
    struct change *c = list_entry(all->list.next, struct change, link);

    if (list_empty(&all->list)) return false;
    if (c->job_id)
        take_back(all, c); /* a policy configuration applies to the next worker as well */
    *requester = c->requester;
    free_change(c);
    return true;
}

void changes_forget(struct changes *all, const struct control *requester) {
    struct list *pos;

    list_each(pos, &all->list) {
        struct change *c = list_entry(pos, struct change, link);

        if (c->requester == requester) c->requester = NULL;
    }
}
