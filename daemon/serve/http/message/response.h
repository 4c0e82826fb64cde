/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the head of a response. Pure.
 */
#ifndef DAEMON_SERVE_HTTP_MESSAGE_RESPONSE_H
#define DAEMON_SERVE_HTTP_MESSAGE_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RESPONSE_HEAD_BYTES 512 /* enough for any response */
#define RESPONSE_NO_JSON ((size_t)-1)
#define RESPONSE_CONTINUE "HTTP/1.1 100 Continue\r\n\r\n"

struct response {
    int status;
    const char *type;  /* type of the body; NULL: omitted */
    const char *allow; /* methods; NULL: omitted */
    size_t body_bytes; /* for Content-Length */
    /* Length of the JSON if binary data follows it; RESPONSE_NO_JSON otherwise. */
    size_t json_bytes;
    uint32_t retry_after_s; /* 0: omitted */
    bool last;              /* the connection closes after this response */
    bool http10; /* the client speaks HTTP/1.0 and must be told that the connection stays open */
};

/* Returns the length. `date` is in HTTP's format. */
size_t response_write(const struct response *r, const char *date, char out[RESPONSE_HEAD_BYTES]);

#endif
