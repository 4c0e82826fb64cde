/* SPDX-License-Identifier: Apache-2.0
 *
 * A lock for a handful of instructions: one locked instruction to take, none to release, no system
 * call unless the holder was descheduled. Never held across a wait.
 */
#ifndef SHIM_LOCK_H
#define SHIM_LOCK_H

#include <sched.h>
#include <stdint.h>

#include "common/atomics.h"

struct lock {
    _Atomic uint32_t taken;
};

#define LOCK_SPINS 128

static inline void lock_take(struct lock *l) {
    for (unsigned spins = 0; atom_exchange(&l->taken, 1); spins++) {
        if (spins < LOCK_SPINS)
            atom_pause();
        else
            sched_yield();
    }
}

static inline void lock_drop(struct lock *l) {
    atom_store_release(&l->taken, 0);
}

#endif
