/* SPDX-License-Identifier: Apache-2.0
 *
 * Counters that other threads and processes read and only the worker's thread writes, so no locked
 * instruction is needed.
 */
#ifndef DAEMON_WORKER_STATS_H
#define DAEMON_WORKER_STATS_H

#include "common/atomics.h"

static inline void stats_add(_Atomic uint64_t *counter, uint64_t n) {
    atom_store_relaxed(counter, atom_load_relaxed(counter) + n);
}

static inline void stats_sub(_Atomic uint64_t *counter, uint64_t n) {
    atom_store_relaxed(counter, atom_load_relaxed(counter) - n);
}

static inline void stats_most(_Atomic uint64_t *counter, uint64_t n) {
    if (n > atom_load_relaxed(counter)) atom_store_relaxed(counter, n);
}

#endif
