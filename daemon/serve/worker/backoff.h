/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes the pause before a model's program is restarted: it doubles each time, until a program
 * has been ready for long enough. Pure. The struct is the caller's.
 */
#ifndef DAEMON_SERVE_WORKER_BACKOFF_H
#define DAEMON_SERVE_WORKER_BACKOFF_H

#include <stdint.h>

struct backoff {
    uint64_t first_ns, most_ns;
    uint64_t reset_ns; /* a program ready for this long resets the pause */
    uint64_t next_ns;  /* the next pause; 0: first_ns */
};

/* `ready_ns`: how long the program that ended had been ready; 0: never. */
uint64_t backoff_next_ns(struct backoff *b, uint64_t ready_ns);

#endif
