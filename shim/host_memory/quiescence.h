/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks that all other threads of this process sleep and only the caller can wake them. Each waits
 * for a futex without a timeout, which only threads of the process change. Signal handlers wait
 * until the end before they run. No thread is stopped or interrupted. One caller at a time.
 */
#ifndef SHIM_HOST_MEMORY_QUIESCENCE_H
#define SHIM_HOST_MEMORY_QUIESCENCE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct quiet {
    sigset_t before; /* signals that the caller had blocked */
};

/* Waits up to `patience_ns` for threads that still run. True: all sleep until quiescence_end, and
 * the caller's own signals are blocked as well. False: some still run, or have their stack or their
 * futex in [lo, hi). */
bool quiescence_begin(struct quiet *q, uint64_t lo, uint64_t hi, uint64_t patience_ns);
void quiescence_end(const struct quiet *q);

#endif
