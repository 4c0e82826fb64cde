/* SPDX-License-Identifier: Apache-2.0
 *
 * The seam between the front and whoever serves the models: what the front asks, and how it is
 * answered. All of it is called in the loop's thread; nothing of it may wait.
 *
 * Who owns what: models, and all that they point at, are the server's and stay as they are until
 * the front has stopped. A request, with its tensors, is the front's: it is there from infer()
 * until that call's reply is answered, refused, or gone, whichever comes first; what is needed
 * after that is copied before. Tensors lie in the body as it came, at any alignment. What is given
 * to front_answer and front_refuse is copied before they return.
 */
#ifndef DAEMON_SERVE_HTTP_FRONT_OPS_H
#define DAEMON_SERVE_HTTP_FRONT_OPS_H

#include "daemon/serve/infer/request.h"

/* Stands for one request until it is answered, refused or gone. The front's. */
struct front_reply {
    void *user; /* whatever the server likes; NULL at first */
};

struct front_ops {
    const char *version; /* of the server, as its metadata says it */
    const struct model *(*models)(void *arg, size_t *count);
    /* Whether requests for a model make sense now; m is NULL: for any of them. */
    bool (*ready)(void *arg, const struct model *m);
    /* A request that is checked against its model. Exactly one of front_answer and front_refuse
     * follows, within this call or later, unless gone() comes before. */
    void (*infer)(void *arg, const struct request *r, struct front_reply *reply);
    /* The client hung up: the reply and its request end with this call. A client that closes its
     * sending half while it waits counts as one that hung up. Never within infer(). */
    void (*gone)(void *arg, struct front_reply *reply);
    /* Appends Prometheus's text. */
    void (*metrics)(void *arg, struct buf *text);
};

#endif
