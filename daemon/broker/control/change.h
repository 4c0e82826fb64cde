/* SPDX-License-Identifier: Apache-2.0
 *
 * The verbs that change something: who may, what is allowed, and the worker's answer, which comes
 * later and in the order of what it was told. Owner: the server.
 */
#ifndef DAEMON_BROKER_CONTROL_CHANGE_H
#define DAEMON_BROKER_CONTROL_CHANGE_H

#include "daemon/broker/broker.h"
#include "proto/ctl_msg.h"

/* Whether `uid` may change the policy and other users' jobs: root and the daemon's own user. */
bool change_permitted(uid_t uid);

/* Does what the request of user `uid` asks. 0: the reply, owned by `out`, is in *bytes; 1: the
 * worker was told, control_done comes later; -errno. */
int change_start(struct server *s, const struct ctl_request *r, uid_t uid, struct control *asker,
                 struct ctl_out *out, const void **bytes, size_t *n);

/* The worker's policies differ from what is chosen (it was just started, or the configuration was
 * read again): tells it. Nothing to do while it is not ready. */
void change_sync_policy(struct server *s);

/* WIRE_DID: the answer to the oldest change; ERR_PROTOCOL when there is none. */
int change_did(struct server *s, const struct wire_worker_msg *msg);
/* The worker is gone, and its answers with it. */
void change_lost(struct server *s, const char *why);
/* Nobody waits there any more. */
void change_forget(struct server *s, const struct control *asker);

#endif
