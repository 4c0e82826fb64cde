/* SPDX-License-Identifier: Apache-2.0
 *
 * One connection and its current request; HTTP has one at a time. Created when a connection opens
 * and reused for each of its requests. Thread: the loop's.
 */
#ifndef DAEMON_SERVE_HTTP_EXCHANGE_H
#define DAEMON_SERVE_HTTP_EXCHANGE_H

#include "daemon/serve/http/conn.h"
#include "daemon/serve/http/front_ops.h"
#include "daemon/serve/http/message/response.h"
#include "daemon/serve/http/message/route.h"
#include "daemon/serve/http/message/session.h"
#include "daemon/serve/http/tcp.h"
#include "daemon/serve/infer/previous_request.h"

struct front;

#define EXCHANGE_PATH_BYTES 96 /* longest path in the log, with its NUL */

enum exchange_state {
    EXCHANGE_NONE,     /* between requests */
    EXCHANGE_HEAD,     /* the first byte has arrived */
    EXCHANGE_BODY,     /* the headers have arrived; the body is being received */
    EXCHANGE_ASKED,    /* handed to the server of models, within infer() */
    EXCHANGE_WAITING,  /* infer() has returned without an answer */
    EXCHANGE_ANSWERED, /* the response is ready */
    EXCHANGE_SENDING,  /* part of the response waits for space in the socket */
    EXCHANGE_LEAVING,  /* the last response is sent; the client is expected to hang up */
    EXCHANGE_CLOSED,
};

struct exchange {
    struct conn conn;
    struct front *front;
    struct tcp tcp;
    struct session session;
    struct list behind; /* in front.behind, while its next request waits for the loop's next turn */
    enum exchange_state state;
    struct route route;
    struct refusal why; /* status 0: no error so far */
    bool expects;       /* the client waits for "100 Continue" */

    unsigned char *body;
    size_t body_bytes; /* received bytes, as the front counts them */
    size_t json_bytes; /* length of the JSON from its header; REQUEST_NO_HEADER */
    char application[REQUEST_MAX_APPLICATION_BYTES + 1]; /* from its header; "": not given */
    struct request request;
    struct previous_request before; /* the connection's previous request */
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

/* Creates an exchange without a connection. NULL if memory is short. */
struct exchange *exchange_create(struct front *f);
void exchange_destroy(struct exchange *x);

/* exchange_begin starts a request at its first byte. exchange_end ends it, however it ends, and
 * logs it. */
void exchange_begin(struct exchange *x);
void exchange_end(struct exchange *x, bool gone);
/* Sets method and path for the log. */
void exchange_name(struct exchange *x, const char *method, const char *path);

/* The part of the body that has arrived. */
struct request_body exchange_body(const struct exchange *x);
/* Releases the request and its body; the response may still be in flight. */
void exchange_drop(struct exchange *x);

/* Sets the request's only response. Takes over the memory of `body`. If `body` failed for lack of
 * memory, the status is 503 and the body empty. */
void exchange_respond(struct exchange *x, int status, const char *type, struct buf *body);
/* Responds with x->why. */
void exchange_refuse(struct exchange *x);

#endif
