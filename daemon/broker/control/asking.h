/* SPDX-License-Identifier: Apache-2.0
 *
 * A request in work: who asks what, and where the reply goes.
 */
#ifndef DAEMON_BROKER_CONTROL_ASKING_H
#define DAEMON_BROKER_CONTROL_ASKING_H

#include "daemon/broker/broker.h"
#include "proto/control/ctl_msg.h"

struct asking {
    struct broker *broker;
    const struct ctl_request *request;
    uid_t uid;                 /* SO_PEERCRED's */
    struct control *requester; /* to be answered where the worker's answer is awaited */
    int in_fd;                 /* that came with it, the caller's; -1: none */
    int out_fd;                /* that goes with the reply, the caller's to close; -1: none */
    struct ctl_out *out;
    const void *bytes; /* of the reply, owned by `out` */
    size_t n;
};

/* Root or the daemon's own user, who may change everything. */
bool asking_admin(const struct asking *q);

/* The reply: 0 or -errno. */
int asking_reply(struct asking *q, uint64_t next); /* the records that were added */
int asking_record(struct asking *q, enum ctl_record kind, const void *record); /* this one */
int asking_refuse(struct asking *q, enum ctl_error error, const char *text, const char *hint);
/* The GPU that argument `gpu` names, the first where it is not given; NULL, with *err of the
 * refusal, where there is none of that number. */
struct gpu *asking_gpu(struct asking *q, int *err);
/* "job 7: no such job", and where to see which there are. */
int asking_not_found(struct asking *q, const char *what, const char *kind);

#endif
