/* SPDX-License-Identifier: Apache-2.0
 *
 * One connection, and the request that is on it: HTTP has one at a time. Made when a connection
 * opens, used again for each of its requests. In the loop's thread.
 */
#ifndef DAEMON_SERVE_HTTP_EXCHANGE_H
#define DAEMON_SERVE_HTTP_EXCHANGE_H

#include "daemon/serve/http/conn.h"
#include "daemon/serve/http/front_ops.h"
#include "daemon/serve/http/message/response.h"
#include "daemon/serve/http/message/route.h"
#include "daemon/serve/http/message/session.h"
#include "daemon/serve/http/tcp.h"
#include "daemon/serve/infer/again.h"

struct front;

#define EXCHANGE_PATH_BYTES 96 /* as the log shows it */

enum exchange_state {
    EXCHANGE_NONE,     /* between requests */
    EXCHANGE_HEAD,     /* the first byte of one is there */
    EXCHANGE_BODY,     /* its headers too; the body comes */
    EXCHANGE_ASKED,    /* with whoever serves the model, within infer() */
    EXCHANGE_WAITING,  /* the same, after infer() */
    EXCHANGE_ANSWERED, /* its response is made */
    EXCHANGE_SENDING,  /* and a part of it with the socket, which is full */
    EXCHANGE_LEAVING,  /* the last response has gone: its client is to hang up */
    EXCHANGE_CLOSED,
};

struct exchange {
    struct conn conn;
    struct front *front;
    struct tcp tcp;
    struct session session;
    struct list behind; /* of the front's, while its next request waits to be looked at */
    enum exchange_state state;
    struct route route;
    struct refusal why; /* status 0: nothing is wrong with it so far */
    bool expects;       /* it is to be told to go on */

    unsigned char *body;
    size_t body_bytes; /* that have come, as the front counts them */
    size_t json_bytes; /* of its body, by its header; REQUEST_NO_HEADER */
    char application[REQUEST_MAX_APPLICATION_BYTES + 1]; /* by its header; "": not said */
    struct request request;
    struct again before; /* the connection's request before */
    struct front_reply reply;

    struct response response;
    char head[RESPONSE_HEAD_BYTES];
    struct buf answer; /* the response's body */

    uint64_t begin_ns;
    char method[8], path[EXCHANGE_PATH_BYTES];
};

static inline struct exchange *exchange_of(struct front_reply *reply) {
    return list_entry(reply, struct exchange, reply);
}

/* Without a connection yet. NULL: no memory. */
struct exchange *exchange_create(struct front *f);
void exchange_destroy(struct exchange *x);

/* With a request, from its first byte on to its end, however it ends; then it goes into the log. */
void exchange_begin(struct exchange *x);
void exchange_end(struct exchange *x, bool gone);
/* What the log says of it. */
void exchange_name(struct exchange *x, const char *method, const char *path);

/* What has come of it. */
struct request_body exchange_body(const struct exchange *x);
/* Gives the request and its body back; the answer may be on its way still. */
void exchange_drop(struct exchange *x);

/* Its only response. Takes over what `body` has. */
void exchange_respond(struct exchange *x, int status, const char *type, struct buf *body);
/* The same with x->why. */
void exchange_refuse(struct exchange *x);

#endif
