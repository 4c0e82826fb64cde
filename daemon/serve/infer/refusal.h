/* SPDX-License-Identifier: Apache-2.0
 *
 * The reason why a request is rejected: an HTTP status, and a sentence that names the problem and
 * the remedy. A value of the caller's; the first error is kept. Not thread-safe.
 */
#ifndef DAEMON_SERVE_INFER_REFUSAL_H
#define DAEMON_SERVE_INFER_REFUSAL_H

#include <stdint.h>

#include "common/buf.h"

#define REFUSAL_TEXT_BYTES 512

struct refusal {
    int status;             /* HTTP status; 0: no error */
    uint32_t retry_after_s; /* 0: retrying does not help */
    char text[REFUSAL_TEXT_BYTES];
};

/* Returns -EINVAL. */
int refusal_say(struct refusal *r, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Returns -ENOMEM; sets status 503. */
int refusal_memory(struct refusal *r);

/* Writes {"error":"..."}. */
void refusal_write(const struct refusal *r, struct buf *json);

#endif
