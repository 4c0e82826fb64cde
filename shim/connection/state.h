/* SPDX-License-Identifier: Apache-2.0
 *
 * The process's one connection and whether it may be used. Written by cuInit under its mutex and
 * published once by `alive`; read-only afterwards, but for `lost` and `conn.moved`.
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
    /* A word of a page that the kernel empties in a forked child: 1 in the process that connected.
     * NULL before that. getpid would be a system call. */
    _Atomic(_Atomic uint32_t *) alive;
    _Atomic uint32_t lost; /* CUresult once the daemon is known to be gone; sticky */
    struct conn conn;
    bool launch_blocking; /* CUDA_LAUNCH_BLOCKING */
    bool strict;          /* SALUS_STRICT: see refuse.h */
};

extern struct state state;

/* Reads SALUS_LOG, once: before the first line of a call that is possible before cuInit. */
void state_log(void);

/* Connects; nothing may use it yet. 0, -errno or ERR_*. Until state_publish, by one thread. */
int state_connect(void);

/* From now on state_ready says so. Everything that calls may use is there before. */
void state_publish(void);

static inline bool state_published(void) {
    return atom_load_acquire(&state.alive) != NULL;
}

/* 0, or CUDA_ERROR_NOT_INITIALIZED before cuInit and in a forked child. */
/* Kernels of this device know nothing of graphs that this library keeps. */
static inline bool state_is_plain(void) {
    return state.conn.device.flags & WIRE_DEVICE_PLAIN;
}

/* Arrays are this device's own, not memory of the window. */
static inline bool state_has_arrays(void) {
    return state.conn.device.flags & WIRE_DEVICE_ARRAYS;
}

/* Tensor maps are this device's own to write. */
static inline bool state_has_maps(void) {
    return state.conn.device.flags & WIRE_DEVICE_MAPS;
}

/* How many clusters it holds, this device is asked. */
static inline bool state_counts_clusters(void) {
    return state.conn.device.flags & WIRE_DEVICE_CLUSTERS;
}

/* A part of its multiprocessors cannot be had. */
static inline bool state_is_whole(void) {
    return state.conn.device.flags & WIRE_DEVICE_WHOLE;
}

static inline CUresult state_ready(void) {
    _Atomic uint32_t *alive = atom_load_acquire(&state.alive);
    if (__builtin_expect(!alive || !atom_load_relaxed(alive), 0)) return CUDA_ERROR_NOT_INITIALIZED;
    return CUDA_SUCCESS;
}

/* Says so once where the user would otherwise wonder: out of memory although nothing is allocated,
 * for the job was not admitted. Returns `fault`. */
CUresult state_say(uint32_t fault) __attribute__((cold));

/* The error that ended this client's context; only after state_ready. */
static inline CUresult state_fault(void) {
    uint32_t fault = atom_load_acquire(&state.conn.completion->fault.cuda);
    if (__builtin_expect(fault != 0, 0)) return state_say(fault);
    return (CUresult)atom_load_relaxed(&state.lost);
}

/* Ready, and the context is not dead. */
static inline CUresult state_live(void) {
    CUresult r = state_ready();
    return r ? r : state_fault();
}

/* The daemon is gone: latches the CUresult of `err` unless one is latched already. */
void state_lose(int err);

#endif
