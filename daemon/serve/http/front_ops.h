/* SPDX-License-Identifier: Apache-2.0
 *
 * The interface between the front and the server of models: the front's callbacks, and the replies.
 * All functions run in the loop's thread and must not block.
 *
 * Ownership: models and all data that they point to belong to the server and stay constant until
 * the front has stopped. A request with its tensors belongs to the front. It is valid from infer()
 * until its reply is answered, rejected or gone, whichever comes first; copy what is needed later.
 * Tensors point into the body as received, at any alignment. front_answer and front_refuse copy
 * their arguments before they return.
 */
#ifndef DAEMON_SERVE_HTTP_FRONT_OPS_H
#define DAEMON_SERVE_HTTP_FRONT_OPS_H

#include "daemon/serve/infer/request.h"

/* Stands for one request until it is answered, rejected or gone. Owned by the front. */
struct front_reply {
    void *user; /* free for the server's use; NULL at first */
};

struct front_ops {
    const char *version; /* the server's version in its metadata */
    const struct model *(*models)(void *arg, size_t *count);
    /* Tests whether a model accepts requests; m NULL: whether all models do. */
    bool (*ready)(void *arg, const struct model *m);
    /* Hands over a request that was checked against its model. Exactly one of front_answer and
     * front_refuse follows, within this call or later, unless gone() comes first. */
    void (*infer)(void *arg, const struct request *r, struct front_reply *reply);
    /* The client hung up: the reply and its request end with this call. A waiting client that
     * closes its sending half counts as hung up. Never called within infer(). */
    void (*gone)(void *arg, struct front_reply *reply);
    /* Appends metrics in Prometheus's text format. */
    void (*metrics)(void *arg, struct buf *text);
};

#endif
