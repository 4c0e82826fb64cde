/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses the head of a request, its line and its fields. The parser is strict wherever a proxy in
 * front may have interpreted the text differently: RFC 9112, sections 2.2, 3.2, 5.1, 5.2 and 6.3.
 * Pure.
 */
#ifndef DAEMON_SERVE_HTTP_MESSAGE_HEAD_H
#define DAEMON_SERVE_HTTP_MESSAGE_HEAD_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/serve/infer/refusal.h"

#define HEAD_MAX_BYTES (16u << 10) /* including its end; a longer head gets status 431 */
#define HEAD_TOO_LONG ((size_t)-1) /* a body length too large for any integer */

/* The used fields. None may occur twice. */
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

/* Strings point into the parsed text and are valid as long as that text. */
struct head {
    const char *method;              /* a static string */
    const char *path;                /* decoded, without the query */
    const char *fields[HEAD_FIELDS]; /* NULL: missing */
    size_t body_bytes;               /* from Content-Length; 0 if missing */
    bool http10;                     /* HTTP/1.0, not 1.1 */
    bool keep_alive;                 /* the client does not ask to close the connection */
    bool expects; /* the client waits for "100 Continue" before it sends the body */
};

/* Searches for the end of a head that begins at `text`. *at is the number of bytes that previous
 * calls have searched, and is updated. Returns 1 if the head ends at *at, 0 if more bytes are
 * needed, or -EINVAL with the reason if no bytes can make it valid. */
int head_end(const char *text, size_t bytes, size_t *at, struct refusal *why);

/* Parses a complete head found by head_end; modifies `text`. Returns 0, or -EINVAL with the
 * reason. */
int head_parse(struct head *h, char *text, size_t bytes, struct refusal *why);

/* Parses digits only. Sets HEAD_TOO_LONG if the number does not fit; returns -EINVAL for other
 * characters. */
int head_number(const char *text, size_t *number);

#endif
