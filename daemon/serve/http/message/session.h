/* SPDX-License-Identifier: Apache-2.0
 *
 * A connection of HTTP/1.1 as bytes that come: heads, bodies, and the next request only when the
 * one before it is answered. What a client sends meanwhile is kept, HEAD_MAX_BYTES of it at most.
 * The caller's; no socket, no clock.
 *
 *     at = session_room(s, scratch, &bytes);     read there
 *     session_came(s, at, n);
 *     while (session_next(s, why) ...)           a head, a body, an end
 *     session_keep(s);                           before scratch is used for anything else
 */
#ifndef DAEMON_SERVE_HTTP_MESSAGE_SESSION_H
#define DAEMON_SERVE_HTTP_MESSAGE_SESSION_H

#include "daemon/serve/http/message/head.h"

enum session_state {
    SESSION_IN_HEAD,
    SESSION_IN_BODY,
    SESSION_ANSWERING, /* all of a request is there */
    SESSION_OVER,      /* what comes is passed over */
};

enum session_next {
    SESSION_MORE,  /* has to come, or the request to be answered */
    SESSION_HEAD,  /* is in s->head until anything else is asked: session_body() is next */
    SESSION_WHOLE, /* the body is where it was to go: session_answered() is next */
    SESSION_BAD,   /* what came is not HTTP, and why: the session is over */
};

struct session {
    enum session_state state;
    struct head head;
    unsigned char *at; /* what came and was not used yet: in the caller's scratch, or in `kept` */
    size_t bytes;
    unsigned char *kept; /* HEAD_MAX_BYTES, or NULL */
    size_t looked_at;    /* of the head that comes */
    unsigned char *body; /* where it goes; NULL: nowhere */
    size_t body_bytes;   /* of it that are there */
};

void session_init(struct session *s);
void session_finish(struct session *s);

/* Where the next bytes are to be written, and how many at most; 0: none may come now. `scratch` has
 * HEAD_MAX_BYTES, the same as ever until session_keep(). A body goes right to its place. */
void *session_room(struct session *s, void *scratch, size_t *bytes);
void session_came(struct session *s, void *at, size_t bytes);

enum session_next session_next(struct session *s, struct refusal *why);

/* Where the body goes, s->head.body_bytes of it; NULL: it is passed over. */
void session_body(struct session *s, void *place);

/* The request is answered: on with the next one, or none is taken any more. */
void session_answered(struct session *s, bool last);

/* -ENOMEM: the session cannot go on. */
int session_keep(struct session *s);

/* A request has begun and is not whole. */
bool session_begun(const struct session *s);

#endif
