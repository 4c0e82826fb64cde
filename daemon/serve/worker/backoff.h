/* SPDX-License-Identifier: Apache-2.0
 *
 * How long a model's program that ended is left alone before it is started again: a pause that
 * doubles, until one has been ready for long enough. Pure. The struct is the caller's.
 */
#ifndef DAEMON_SERVE_WORKER_BACKOFF_H
#define DAEMON_SERVE_WORKER_BACKOFF_H

#include <stdint.h>

struct backoff {
    uint64_t first_ns, most_ns;
    uint64_t reset_ns; /* ready for so long: the next pause is the first again */
    uint64_t next_ns;  /* 0: first_ns */
};

/* `ready_ns`: for how long the one that ended had been ready; 0: it never was. */
uint64_t backoff_next_ns(struct backoff *b, uint64_t ready_ns);

#endif
