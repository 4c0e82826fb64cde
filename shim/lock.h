/* SPDX-License-Identifier: Apache-2.0
 *
 * The library's locks. No lock of these kinds is held across a wait for the worker
 * (connection/wait.h), because the worker may wait in turn for a thread that needs the lock. Builds
 * with LOCK_CHECK count the locks of a thread, and abort where it would wait while holding one.
 *
 * `struct lock` is for a few instructions: one locked instruction to take, none to release, no
 * system call unless the holder was descheduled. lock_enter and lock_leave are for pthread mutexes,
 * where more is done under the lock.
 */
#ifndef SHIM_LOCK_H
#define SHIM_LOCK_H

#include <pthread.h>
#include <sched.h>
#include <stdint.h>

#include "common/atomics.h"

#ifdef LOCK_CHECK
extern __thread unsigned int lock_held;
void lock_assert_none(void);
#define LOCK_COUNT(step) (void)(lock_held += (unsigned int)(step))
#else
static inline void lock_assert_none(void) {}
#define LOCK_COUNT(step) (void)0
#endif

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
    LOCK_COUNT(1);
}

static inline void lock_drop(struct lock *l) {
    LOCK_COUNT(-1);
    atom_store_release(&l->taken, 0);
}

static inline void lock_enter(pthread_mutex_t *m) {
    pthread_mutex_lock(m);
    LOCK_COUNT(1);
}

static inline void lock_leave(pthread_mutex_t *m) {
    LOCK_COUNT(-1);
    pthread_mutex_unlock(m);
}

#endif
