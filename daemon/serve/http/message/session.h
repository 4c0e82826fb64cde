/* SPDX-License-Identifier: Apache-2.0
 *
 * A byte-level HTTP/1.1 connection: heads, bodies, and the next request only after the previous one
 * is answered. Bytes that a client sends meanwhile are stored, at most HEAD_MAX_BYTES. Owner: the
 * caller. No socket, no clock.
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
    SESSION_ANSWERING, /* all of a request has arrived */
    SESSION_OVER,      /* further bytes are discarded */
};

enum session_next {
    SESSION_MORE,  /* more bytes are needed, or the request must be answered first */
    SESSION_HEAD,  /* s->head is valid until the next call; call session_body() next */
    SESSION_WHOLE, /* the body is complete; call session_answered() next */
    SESSION_BAD,   /* the bytes are not HTTP, see why; the session is over */
};

struct session {
    enum session_state state;
    struct head head;
    unsigned char *at; /* unused bytes: in the caller's scratch buffer or in `kept` */
    size_t bytes;
    unsigned char *kept; /* HEAD_MAX_BYTES, or NULL */
    size_t looked_at;    /* bytes of the next head that were searched for its end */
    unsigned char *body; /* destination of the body; NULL: discarded */
    size_t body_bytes;   /* received bytes of the body */
};

void session_init(struct session *s);
void session_finish(struct session *s);

/* Returns the buffer for the next bytes and its size; 0: no bytes may be read now. `scratch` has
 * HEAD_MAX_BYTES and must be the same until session_keep(). Bodies are read directly into their
 * destination. */
void *session_room(struct session *s, void *scratch, size_t *bytes);
void session_came(struct session *s, void *at, size_t bytes);

enum session_next session_next(struct session *s, struct refusal *why);

/* Sets the destination of the body, s->head.body_bytes long; NULL: discard it. */
void session_body(struct session *s, void *place);

/* The request is answered: continues with the next one, or ends if `last`. */
void session_answered(struct session *s, bool last);

/* Returns 0, or -ENOMEM: the session cannot continue. */
int session_keep(struct session *s);

/* Tests whether a request has begun and is incomplete. */
bool session_begun(const struct session *s);

#endif
