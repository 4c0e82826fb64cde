/* SPDX-License-Identifier: Apache-2.0
 *
 * One connection, and the request that is on it: HTTP has one at a time. Made when a connection
 * opens, used again for each of its requests. In the loop's thread.
 */
#ifndef DAEMON_SERVE_HTTP_EXCHANGE_H
#define DAEMON_SERVE_HTTP_EXCHANGE_H

#include "daemon/serve/http/conn.h"
#include "daemon/serve/http/front_ops.h"
#include "daemon/serve/http/route.h"

struct front;
struct MHD_Connection;
struct MHD_Response;

#define EXCHANGE_PATH_BYTES 96 /* as the log shows it */

enum exchange_state {
    EXCHANGE_NONE,     /* between requests */
    EXCHANGE_LINE,     /* its request line is there */
    EXCHANGE_BODY,     /* its headers too; the body comes */
    EXCHANGE_ASKED,    /* with whoever serves the model, within infer() */
    EXCHANGE_WAITING,  /* the same, after infer(): the library has suspended it */
    EXCHANGE_ANSWERED, /* its response is made */
    EXCHANGE_QUEUED,   /* and with the library */
    EXCHANGE_GONE,     /* its client hung up */
};

struct exchange {
    struct conn conn;
    struct front *front;
    struct MHD_Connection *mhd;
    enum exchange_state state;
    struct route route;
    struct refusal why; /* status 0: nothing is wrong with it so far */

    unsigned char *body;
    size_t announced_bytes, body_bytes; /* of its body: said, and there */
    struct request request;
    struct front_reply reply;

    struct MHD_Response *response;
    int status;
    size_t sent_bytes;

    uint64_t begin_ns;
    char method[8], path[EXCHANGE_PATH_BYTES];
};

static inline struct exchange *exchange_of(struct front_reply *reply) {
    return list_entry(reply, struct exchange, reply);
}

/* With a connection. NULL: no memory. */
struct exchange *exchange_create(struct front *f, struct MHD_Connection *mhd, int fd);
void exchange_destroy(struct exchange *x);

/* With a request, from its line on to its end, however it ends; then it goes into the log. */
void exchange_begin(struct exchange *x, const char *uri);
void exchange_end(struct exchange *x);

/* Gives the request and its body back; the answer may be on its way still. */
void exchange_drop(struct exchange *x);

/* Its only response. Takes over what `body` has. */
void exchange_respond(struct exchange *x, int status, const char *type, struct buf *body);
/* The same with x->why. */
void exchange_refuse(struct exchange *x);
/* A header of the response that was made. */
void exchange_header(struct exchange *x, const char *name, const char *value);

/* The response to the library; 0, or -EPIPE: the connection cannot go on. */
int exchange_queue(struct exchange *x);

#endif
