/* SPDX-License-Identifier: Apache-2.0
 *
 * The head of a response as text. Pure.
 */
#ifndef DAEMON_SERVE_HTTP_MESSAGE_RESPONSE_H
#define DAEMON_SERVE_HTTP_MESSAGE_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RESPONSE_HEAD_BYTES 512 /* enough for any */
#define RESPONSE_NO_JSON ((size_t)-1)
#define RESPONSE_CONTINUE "HTTP/1.1 100 Continue\r\n\r\n"

struct response {
    int status;
    const char *type;       /* of the body; NULL: not said */
    const char *allow;      /* methods; NULL: not said */
    size_t body_bytes;      /* of its Content-Length */
    size_t json_bytes;      /* of them, where binary data is behind; RESPONSE_NO_JSON: none is */
    uint32_t retry_after_s; /* 0: not said */
    bool last;              /* the connection is closed behind it */
    bool http10;            /* its client has to be told that it is not */
};

/* How long it is. `date` as HTTP writes it. */
size_t response_write(const struct response *r, const char *date, char out[RESPONSE_HEAD_BYTES]);

#endif
