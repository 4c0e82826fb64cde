/* SPDX-License-Identifier: Apache-2.0
 *
 * The head of a request, its line and its fields: where it ends, and what it says. Strict wherever
 * somebody before us (a proxy) may have read it otherwise: RFC 9112, sections 2.2, 3.2, 5.1, 5.2
 * and 6.3. Pure.
 */
#ifndef DAEMON_SERVE_HTTP_MESSAGE_HEAD_H
#define DAEMON_SERVE_HTTP_MESSAGE_HEAD_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/serve/infer/refusal.h"

#define HEAD_MAX_BYTES (16u << 10) /* with its end; what is longer is answered 431 */
#define HEAD_TOO_LONG ((size_t)-1) /* a body's length, beyond all numbers */

/* The fields that somebody here asks for. None may be there twice. */
#define HEAD_LIST(X)                                 \
    X(HOST, "Host")                                  \
    X(BODY_BYTES, "Content-Length")                  \
    X(CODING, "Transfer-Encoding")                   \
    X(TYPE, "Content-Type")                          \
    X(ENCODING, "Content-Encoding")                  \
    X(EXPECT, "Expect")                              \
    X(JSON_BYTES, "Inference-Header-Content-Length") \
    X(APPLICATION, "Salus-Application")

enum head_field {
#define X(field, name) HEAD_##field,
    HEAD_LIST(X)
#undef X
        HEAD_FIELDS
};

/* Its texts lie in the text that was parsed, and are there as long as that. */
struct head {
    const char *method;              /* lasts for ever */
    const char *path;                /* without escapes, and without what is behind a '?' */
    const char *fields[HEAD_FIELDS]; /* NULL: not there */
    size_t body_bytes;               /* by its Content-Length; 0 where there is none */
    bool http10;                     /* not 1.1 */
    bool keep_alive;                 /* its client does not want the connection closed */
    bool expects;                    /* to be told to go on before it sends its body */
};

/* Looks for the end of a head that begins at `text`. *at: how far it was looked at before, and is
 * now. 1: it ends there; 0: more has to come; -EINVAL: it is none, whatever comes, and why. */
int head_end(const char *text, size_t bytes, size_t *at, struct refusal *why);

/* A whole one, as head_end has it; `text` is changed. 0, or -EINVAL and why. */
int head_parse(struct head *h, char *text, size_t bytes, struct refusal *why);

/* Digits alone: a number that fits, HEAD_TOO_LONG where it does not; -EINVAL where they are not. */
int head_number(const char *text, size_t *number);

#endif
