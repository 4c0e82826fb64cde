/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes of jobs and policies that a GPU's worker was told and has not answered. A change takes
 * effect here at once, and is reverted if the worker reports that it failed. Answers come in the
 * order of the changes.
 *
 * Owner: struct gpu. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_GPU_CHANGES_H
#define DAEMON_BROKER_GPU_CHANGES_H

#include "daemon/broker/jobs/attachments.h"

struct control; /* a requester, of which only the pointer is stored */

struct changes {
    struct list list;
    /* Chosen policies: the configuration's, then the latest request's. */
    struct policy_config policy;
    struct policy_config told; /* policies that the worker started with or was told since */
    struct attachments *attachments;
    struct worker *worker;
};

void changes_init(struct changes *all, const struct policy_config *policy,
                  struct attachments *attachments, struct worker *worker);

/* Tell the worker; `requester` (or NULL) waits for the answer. Return 0 or -ENOMEM; changes_job
 * returns 1 if no worker has the job now, and the next one will be told when it gets the job. */
int changes_job(struct changes *all, struct attachment *a, const struct wire_job *spec,
                struct control *requester);
int changes_policy(struct changes *all, const struct policy_config *policy,
                   struct control *requester);

/* Chooses other policies without a requester. A ready worker is told at once, another when it is
 * ready. */
void changes_configure(struct changes *all, const struct policy_config *policy);
/* changes_started: a worker starts with the chosen policies. changes_ready: it is ready, and is
 * told what was chosen meanwhile. */
void changes_started(struct changes *all);
void changes_ready(struct changes *all);

/* Handles WIRE_DID, the answer to the oldest change. Returns ERR_PROTOCOL when there is none.
 * *requester: who waits for it, or NULL. */
int changes_did(struct changes *all, const struct wire_worker_msg *msg, struct control **requester);
/* The worker is gone: drops the oldest change and sets *requester as changes_did does. A job's
 * change is reverted; policies stay, for the next worker. Returns false when no change was left. */
bool changes_lost(struct changes *all, struct control **requester);
/* The requester no longer waits. */
void changes_forget(struct changes *all, const struct control *requester);

#endif
