/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether all other threads of this process sleep, and can be woken by nothing but the caller: each
 * waits for a futex without a time limit, which only threads of the process change, and handlers of
 * signals wait for the end before they run. Nobody is stopped or interrupted for it. One caller at
 * a time.
 */
#ifndef SHIM_HOST_MEMORY_QUIET_H
#define SHIM_HOST_MEMORY_QUIET_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct quiet {
    sigset_t before; /* signals that the caller held back */
};

/* None of their stacks is in [lo, hi). Waits up to `patience_ns` for threads that run still. True:
 * it is quiet until quiet_end, and the caller's own signals are held back as well. */
bool quiet_begin(struct quiet *q, uint64_t lo, uint64_t hi, uint64_t patience_ns);
void quiet_end(const struct quiet *q);

#endif
