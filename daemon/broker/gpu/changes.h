/* SPDX-License-Identifier: Apache-2.0
 *
 * What a GPU's worker was told to change, jobs and policies, and has not answered: it counts at
 * once here, and is taken back when the worker says that it could not. Answers come in the order of
 * what was told.
 *
 * Owner: struct gpu. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_GPU_CHANGES_H
#define DAEMON_BROKER_GPU_CHANGES_H

#include "daemon/broker/jobs/attachments.h"

struct control; /* who waits for an answer; only its pointer is kept */

struct changes {
    struct list list;
    struct policy_config policy; /* of policies: the configuration's, then the latest request's */
    struct policy_config told;   /* what the worker was started with or told since */
    struct attachments *attachments;
    struct worker *worker;
};

void changes_init(struct changes *all, const struct policy_config *policy,
                  struct attachments *attachments, struct worker *worker);

/* Tells the worker; `asker` (or NULL) waits for its answer. 0 or -ENOMEM. 1: no worker has the job
 * now, and the next one is told when it gets it. */
int changes_job(struct changes *all, struct attachment *a, const struct wire_job *spec,
                struct control *requester);
int changes_policy(struct changes *all, const struct policy_config *policy,
                   struct control *requester);

/* Other policies are chosen, and nobody waits; told once there is a worker that is ready. */
void changes_configure(struct changes *all, const struct policy_config *policy);
/* A worker begins with what is chosen. / It is ready: it is told what was chosen meanwhile. */
void changes_started(struct changes *all);
void changes_ready(struct changes *all);

/* WIRE_DID, the answer to the oldest: ERR_PROTOCOL when there is none. *asker: who waits for it, or
 * NULL. */
int changes_did(struct changes *all, const struct wire_worker_msg *msg, struct control **requester);
/* The worker is gone: forgets the oldest; *asker as above. False: there was none left. */
bool changes_lost(struct changes *all, struct control **requester);
/* Nobody waits there any more. */
void changes_forget(struct changes *all, const struct control *requester);

#endif
