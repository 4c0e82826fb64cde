/* SPDX-License-Identifier: Apache-2.0
 *
 * Why a request is not answered: a status of HTTP and a sentence that names what is wrong and what
 * to do. A value of the caller's; the first thing that is said stays. Not thread-safe.
 */
#ifndef DAEMON_SERVE_INFER_REFUSAL_H
#define DAEMON_SERVE_INFER_REFUSAL_H

#include <stdint.h>

#include "common/buf.h"

#define REFUSAL_TEXT_BYTES 512

struct refusal {
    int status;             /* of HTTP; 0: nothing was said */
    uint32_t retry_after_s; /* 0: trying again does not help */
    char text[REFUSAL_TEXT_BYTES];
};

/* -EINVAL. */
int refusal_say(struct refusal *r, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* -ENOMEM; status 503. */
int refusal_memory(struct refusal *r);

/* {"error":"..."} */
void refusal_write(const struct refusal *r, struct buf *json);

#endif
