/* SPDX-License-Identifier: Apache-2.0
 *
 * The process's one connection, and whether it may be used. cuInit writes it under its mutex and
 * publishes it once by `alive`. It is read-only afterwards, except for `lost` and `conn.moved`.
 */
#ifndef SHIM_CONNECTION_STATE_H
#define SHIM_CONNECTION_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/atomics.h"
#include "proto/cuda/cuda_abi.h"
#include "proto/wire/wire.h"
#include "shim/connection/conn.h"

struct state {
    /* A word of a page that the kernel clears in a forked child: 1 in the process that connected.
     * NULL before that. getpid would be a system call. */
    _Atomic(_Atomic uint32_t *) alive;
    _Atomic uint32_t lost; /* CUresult once the daemon or the worker is known to be lost; sticky */
    struct conn conn;
    bool launch_blocking; /* CUDA_LAUNCH_BLOCKING */
    bool strict;          /* SALUS_STRICT: see refuse.h */
};

extern struct state state;

/* Reads SALUS_LOG, once. Called by cuInit, and by those calls that may log before cuInit. */
void state_log(void);

/* Connects; no other call may use the connection yet. 0, -errno or ERR_*. Called by one thread
 * only, before state_publish. */
int state_connect(void);

/* Makes state_ready succeed from now on. Everything that calls use must exist before. */
void state_publish(void);

static inline bool state_published(void) {
    return atom_load_acquire(&state.alive) != NULL;
}

/* True when kernels on this device cannot launch, change or control graphs. */
static inline bool state_is_plain(void) {
    return state.conn.device.flags & WIRE_DEVICE_PLAIN;
}

/* True when arrays are objects of the device, not memory of the window. */
static inline bool state_has_arrays(void) {
    return state.conn.device.flags & WIRE_DEVICE_ARRAYS;
}

/* True when the device itself encodes tensor maps; otherwise the shim encodes them. */
static inline bool state_has_maps(void) {
    return state.conn.device.flags & WIRE_DEVICE_MAPS;
}

/* True when the device itself answers how many clusters it holds. */
static inline bool state_counts_clusters(void) {
    return state.conn.device.flags & WIRE_DEVICE_CLUSTERS;
}

/* True when the device's multiprocessors cannot be partitioned. */
static inline bool state_is_whole(void) {
    return state.conn.device.flags & WIRE_DEVICE_WHOLE;
}

/* Returns 0, or CUDA_ERROR_NOT_INITIALIZED before cuInit and in a forked child. */
static inline CUresult state_ready(void) {
    _Atomic uint32_t *alive = atom_load_acquire(&state.alive);
    if (__builtin_expect(!alive || !atom_load_relaxed(alive), 0)) return CUDA_ERROR_NOT_INITIALIZED;
    return CUDA_SUCCESS;
}

/* Logs the reason of a fault once, if CUDA's error does not tell it: out of memory, because the job
 * was not admitted, or a lost worker. Returns `fault`. */
CUresult state_say(uint32_t fault) __attribute__((cold));

/* Returns the error that ended this client's context; call only after state_ready. */
static inline CUresult state_fault(void) {
    uint32_t fault = atom_load_acquire(&state.conn.completion->fault.cuda);
    if (__builtin_expect(fault != 0, 0)) return state_say(fault);
    return (CUresult)atom_load_relaxed(&state.lost);
}

/* Succeeds when the state is ready and the context has no sticky error. */
static inline CUresult state_live(void) {
    CUresult r = state_ready();
    return r ? r : state_fault();
}

/* Called when the daemon or the worker is lost: latches the CUresult of `err` (ERR_* or -errno) and
 * logs it, unless an error is latched already. */
void state_lose(int err);

#endif
