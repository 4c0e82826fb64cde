/* SPDX-License-Identifier: Apache-2.0
 *
 * Contexts: the device has one primary context, and programs can make more. All of them are thin
 * handles on the one connection; what they own (memory, streams, events, modules) carries their
 * index and ends with them. The current context is a stack per thread.
 */
#ifndef SHIM_CONTEXT_CTX_H
#define SHIM_CONTEXT_CTX_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"
#include "shim/connection/state.h"
#include "shim/connection/wait.h"
#include "shim/table.h"

#define CTX_PRIMARY 0
#define CTX_LIMITS 10

struct context {
    struct table_item place;
    CUcontext handle; /* NULL while the slot is free */
    uint32_t index;   /* of what it owns: of a green one, the primary context's */
    uint32_t sms;     /* of a green one: its part of the device; 0: it is none */
    uint16_t generation;
    _Atomic uint32_t live;
    uint32_t refs; /* of the primary context; of others, how many would have to detach */
    /* What all of it waits for: a place (stamp.h), for streams that are made later. */
    _Atomic uint64_t awaits;
    unsigned int flags, api_version;
    unsigned long long id;
    size_t limits[CTX_LIMITS]; /* as it asked (limits.h) */
    _Atomic uint32_t calls;    /* WIRE_CALLS_* that its launches may have made */
    CUfunc_cache cache;
};

/* One thread's view; made when first needed, freed when the thread ends. */
struct ctx_thread {
    uint32_t depth, room; /* of `stack` */
    bool in_callback;     /* runs a host function: calls that need a context are not permitted */
    CUstreamCaptureMode capture_mode;
    struct context **stack;
};

extern __thread struct ctx_thread *ctx_self __attribute__((tls_model("initial-exec")));

/* NULL when out of memory. */
struct ctx_thread *ctx_thread(void);

/* NULL when this thread has none. */
static inline struct context *ctx_current(void) {
    struct ctx_thread *t = ctx_self;
    return t && t->depth ? t->stack[t->depth - 1] : NULL;
}

/* The gate of every call that needs a working context. */
static inline CUresult ctx_enter(void) {
    CUresult r = state_live();
    if (__builtin_expect(r, 0)) return r;
    struct ctx_thread *t = ctx_self;
    if (__builtin_expect(!t, 0)) return CUDA_ERROR_INVALID_CONTEXT;
    if (__builtin_expect(t->in_callback, 0)) return CUDA_ERROR_NOT_PERMITTED;
    if (__builtin_expect(!t->depth, 0)) return CUDA_ERROR_INVALID_CONTEXT;
    if (__builtin_expect(!atom_load_relaxed(&t->stack[t->depth - 1]->live), 0))
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return CUDA_SUCCESS;
}

/* The gate of calls that name what they are about and need no current context. */
static inline CUresult ctx_enter_device(void) {
    CUresult r = state_live();
    if (r) return r;
    return ctx_self && ctx_self->in_callback ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

/* CUDA_ERROR_INVALID_VALUE, or CUDA_ERROR_NOT_SUPPORTED and said: no context can have these flags
 * (CU_CTX_*). */
CUresult ctx_check_flags(unsigned int flags);

/* How threads wait for what a context does, by its flags. */
static inline enum wait_how ctx_waiting(const struct context *c) {
    unsigned int how = c ? c->flags & CU_CTX_SCHED_MASK : CU_CTX_SCHED_AUTO;
    if (how == CU_CTX_SCHED_BLOCKING_SYNC) return WAIT_BLOCK;
    return how == CU_CTX_SCHED_AUTO ? WAIT_AUTO : WAIT_SPIN;
}

/* Synchronous operations of the current context always wait for their end. */
static inline bool ctx_synchronizes(void) {
    const struct context *c = ctx_current();
    return c && c->flags & CU_CTX_SYNC_MEMOPS;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* NULL unless the handle is a context's. NULL stands for the current one. */
struct context *ctx_find(CUcontext handle);

/* By index: an owner that is known to exist, or any below ctx_limit. */
struct context *ctx_at(uint32_t index);
uint32_t ctx_limit(void); /* no context has this index or a greater one */

/* The primary context: has a handle from the start, and lives while somebody retains it. */
struct context *ctx_primary(void);
struct context *ctx_retain(void);
/* One holder of it less, or with `all` every one; how many there were. `ended`: nobody is left, and
 * what it owns is the caller's to release. */
uint32_t ctx_release(bool all, bool *ended);

/* One user more, or less, of one that is not green; how many there were. */
uint32_t ctx_attach(struct context *c);
uint32_t ctx_detach(struct context *c);

/* Another one, with one user; NULL when there is no memory, or there are too many. */
struct context *ctx_create(unsigned int flags);
/* A green one, which is the primary context with a part of the device. The caller retained that. */
struct context *ctx_create_green(uint32_t sms);
/* True for the one caller who ends it: he releases what it owns, and then its place. */
bool ctx_end(struct context *c, CUcontext handle);
void ctx_free(struct context *c);

/* ---- the thread's stack ---------------------------------------------------------------------- */

CUresult ctx_push(struct context *c);
/* The thread has one. */
void ctx_pop(void);
/* In place of the current one, or as the first. */
CUresult ctx_set(struct context *c);

#endif
