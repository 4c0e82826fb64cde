/* SPDX-License-Identifier: Apache-2.0
 *
 * Contexts: the device has one primary context, and programs can create more. All of them are thin
 * handles on the one connection. Memory, streams, events and modules carry the index of the context
 * that owns them, and end with it. Each thread has a stack of current contexts.
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
    /* Index of the context that owns the objects; for a green context the primary one's. */
    uint32_t index;
    uint32_t sms; /* multiprocessors of a green context; 0: it is not green */
    uint16_t generation;
    _Atomic uint32_t live;
    uint32_t refs; /* retains of the primary context; of any other one, its users (cuCtxAttach,
                      cuCtxDetach) */
    /* Position (stamp.h) that every stream of the context waits for, also one created later. */
    _Atomic uint64_t awaits;
    unsigned int flags, api_version;
    unsigned long long id;
    size_t limits[CTX_LIMITS]; /* values as the context requested them (limits.h) */
    _Atomic uint32_t calls;    /* WIRE_CALLS_* that launched kernels may have made */
    CUfunc_cache cache;
};

/* The state of one thread. Created when first needed, freed when the thread ends. */
struct ctx_thread {
    uint32_t depth, room; /* used and allocated entries of `stack` */
    bool in_callback;     /* the thread runs a host function: calls that need a context are not
                             permitted */
    CUstreamCaptureMode capture_mode;
    struct context **stack;
};

extern __thread struct ctx_thread *ctx_self __attribute__((tls_model("initial-exec")));

/* Returns NULL when out of memory. */
struct ctx_thread *ctx_thread(void);

/* Returns NULL when this thread has no current context. */
static inline struct context *ctx_current(void) {
    struct ctx_thread *t = ctx_self;
    return t && t->depth ? t->stack[t->depth - 1] : NULL;
}

/* Every call that needs a working context enters here. */
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

/* Calls that name their object and need no current context enter here. */
static inline CUresult ctx_enter_device(void) {
    CUresult r = state_live();
    if (r) return r;
    return ctx_self && ctx_self->in_callback ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

/* Checks the flags (CU_CTX_*) of a context to be created. CUDA_ERROR_INVALID_VALUE, or
 * CUDA_ERROR_NOT_SUPPORTED with a log line: no context can have them. */
CUresult ctx_check_flags(unsigned int flags);

/* How threads wait for work of the context, by its flags. */
static inline enum wait_how ctx_waiting(const struct context *c) {
    unsigned int how = c ? c->flags & CU_CTX_SCHED_MASK : CU_CTX_SCHED_AUTO;
    if (how == CU_CTX_SCHED_BLOCKING_SYNC) return WAIT_BLOCK;
    return how == CU_CTX_SCHED_AUTO ? WAIT_AUTO : WAIT_SPIN;
}

/* True when synchronous operations of the current context always wait for their end. */
static inline bool ctx_synchronizes(void) {
    const struct context *c = ctx_current();
    return c && c->flags & CU_CTX_SYNC_MEMOPS;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Returns NULL unless the handle belongs to a context. A NULL handle means the current context. */
struct context *ctx_find(CUcontext handle);

/* Finds a context by index: an owner that is known to exist, or any index below ctx_limit. */
struct context *ctx_at(uint32_t index);
uint32_t ctx_limit(void); /* no context has this index or a greater one */

/* The primary context. It has a handle from the start, and lives while it is retained. */
struct context *ctx_primary(void);
struct context *ctx_retain(void);
/* Drops one retain of the primary context, or with `all` every one. Returns how many there were.
 * `ended`: no retain is left, and the caller releases what the context owns. */
uint32_t ctx_release(bool all, bool *ended);

/* Adds or removes one user of a context that is not green. Returns how many users there were. */
uint32_t ctx_attach(struct context *c);
uint32_t ctx_detach(struct context *c);

/* Creates a context with one user; NULL when memory is short or there are too many contexts. */
struct context *ctx_create(unsigned int flags);
/* Creates a green context: the primary context with a part of the device. The caller has retained
 * the primary context. */
struct context *ctx_create_green(uint32_t sms);
/* Returns true to exactly one caller, which then releases what the context owns, and at last its
 * slot. */
bool ctx_end(struct context *c, CUcontext handle);
void ctx_free(struct context *c);

/* ---- the thread's stack ---------------------------------------------------------------------- */

CUresult ctx_push(struct context *c);
/* Pops the current context; the thread has one. */
void ctx_pop(void);
/* Replaces the current context, or pushes the first one. */
CUresult ctx_set(struct context *c);

#endif
