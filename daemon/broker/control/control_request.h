/* SPDX-License-Identifier: Apache-2.0
 *
 * A request being handled: the requester, the request and the reply.
 */
#ifndef DAEMON_BROKER_CONTROL_CONTROL_REQUEST_H
#define DAEMON_BROKER_CONTROL_CONTROL_REQUEST_H

#include "daemon/broker/broker.h"
#include "proto/control/ctl_msg.h"

struct control_request {
    struct broker *broker;
    const struct ctl_request *request;
    uid_t uid; /* from SO_PEERCRED */
    /* connection that gets the reply later, if that must wait for the worker */
    struct control *requester;
    int in_fd;  /* descriptor that came with the request, the caller's; -1: none */
    int out_fd; /* descriptor that goes with the reply, the caller's to close; -1: none */
    struct ctl_out *out;
    const void *bytes; /* encoded reply, owned by `out` */
    size_t n;
};

/* The requester is root or the daemon's own user, who may change everything. */
bool control_request_admin(const struct control_request *q);

/* The functions below build the reply. They return 0 or -errno. */
int control_request_reply(struct control_request *q,
                          uint64_t next); /* with the records added so far */
int control_request_record(struct control_request *q, enum ctl_record kind,
                           const void *record); /* with this record */
int control_request_refuse(struct control_request *q, enum ctl_error error, const char *text,
                           const char *hint);
/* Returns the GPU that argument `gpu` names, the first one without the argument; NULL, with the
 * refusal's result in *err, if there is no such GPU. */
struct gpu *control_request_gpu(struct control_request *q, int *err);
/* Refuses with "salusd has no KIND 7; see 'salusctl WHAT list'", with argument `id` as the number.
 */
int control_request_not_found(struct control_request *q, const char *what, const char *kind);

#endif
