/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of contexts, and each thread's stack of contexts.
 */
#include "shim/context/ctx.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "shim/connection/process_exit.h"
#include "shim/connection/refuse.h"
#include "shim/connection/state.h"
#include "shim/device/device_view.h"
#include "shim/handle.h"
#include "shim/lock.h"

#define STACK_FIRST 8u        /* contexts that a thread's stack holds at first */
#define CTX_API_VERSION 3020u /* the version that drivers have reported since CUDA 3.2 */

__thread struct ctx_thread *ctx_self;

static struct context early[TABLE_BLOCK]; /* the primary context exists from the start */
static struct table contexts = {
    .bytes = sizeof(struct context), .blocks = {(char *)early}, .limit = CTX_PRIMARY + 1};
static pthread_mutex_t ctx_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long long last_id;

/* ---- threads --------------------------------------------------------------------------------- */

static pthread_key_t thread_key;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;

static void thread_end(void *arg) {
    struct ctx_thread *t = arg;
    ctx_self = NULL;
    free(t->stack);
    free(t);
}

static void make_key(void) {
    pthread_key_create(&thread_key, thread_end);
}

struct ctx_thread *ctx_thread(void) {
    if (ctx_self) return ctx_self;
    pthread_once(&thread_once, make_key);
    ctx_self = calloc(1, sizeof(*ctx_self));
    if (ctx_self) pthread_setspecific(thread_key, ctx_self);
    return ctx_self;
}

static bool has_room(struct ctx_thread *t) {
    if (t->depth < t->room) return true;
    uint32_t room = t->room ? 2 * t->room : STACK_FIRST;
    struct context **stack = realloc(t->stack, room * sizeof(*stack));
    if (!stack) return false;
    t->stack = stack;
    t->room = room;
    return true;
}

CUresult ctx_push(struct context *c) {
    struct ctx_thread *t = ctx_thread();
    if (!t || !has_room(t)) return CUDA_ERROR_OUT_OF_MEMORY;
    t->stack[t->depth++] = c;
    return CUDA_SUCCESS;
}

void ctx_pop(void) {
    ctx_self->depth--;
}

CUresult ctx_set(struct context *c) {
    if (!ctx_current()) return ctx_push(c);
    ctx_self->stack[ctx_self->depth - 1] = c;
    return CUDA_SUCCESS;
}

CUresult ctx_check_flags(unsigned int flags) {
    unsigned int how = flags & CU_CTX_SCHED_MASK;
    if (flags & ~(unsigned int)CU_CTX_FLAGS_MASK || how & (how - 1))
        return CUDA_ERROR_INVALID_VALUE;
    return flags & (CU_CTX_COREDUMP_ENABLE | CU_CTX_USER_COREDUMP_ENABLE)
               ? refuse_call("a context that dumps core")
               : CUDA_SUCCESS;
}

/* ---- the table ------------------------------------------------------------------------------- */

struct context *ctx_find(CUcontext handle) {
    if (!handle) return ctx_current();
    struct context *c = table_at(&contexts, handle_index(HANDLE_CONTEXT, handle));
    return c && c->handle == handle ? c : NULL;
}

struct context *ctx_at(uint32_t index) {
    return table_at(&contexts, index);
}

uint32_t ctx_limit(void) {
    return atom_load_acquire(&contexts.limit);
}

/* Marks the job as in use; salusd lists it from now on. */
static void note_use(void) {
    if (state.conn.submission) atom_store_relaxed(&state.conn.submission->used, 1);
}

static void start(struct context *c, uint32_t index, unsigned int flags) {
    note_use();
    c->index = index;
    c->sms = 0;
    atom_store_relaxed(&c->awaits, 0);
    c->flags = flags;
    c->api_version = CTX_API_VERSION;
    c->id = ++last_id;
    for (uint32_t k = 0; k < CTX_LIMITS; k++)
        c->limits[k] = device_view_limit((CUlimit)k);
    atom_store_relaxed(&c->calls, 0);
    c->cache = CU_FUNC_CACHE_PREFER_NONE;
    c->handle = (CUcontext)(uintptr_t)handle_make(HANDLE_CONTEXT, c->generation, index);
    atom_store_release(&c->live, 1);
}

struct context *ctx_primary(void) {
    struct context *c = &early[CTX_PRIMARY];
    if (!c->handle) c->handle = (CUcontext)(uintptr_t)handle_make(HANDLE_CONTEXT, 0, CTX_PRIMARY);
    return c;
}

struct context *ctx_retain(void) {
    lock_enter(&ctx_lock);
    struct context *c = ctx_primary();
    uint32_t holders = ++c->refs;
    if (holders == 1) start(c, CTX_PRIMARY, c->flags);
    lock_leave(&ctx_lock);
    process_exit_watch(holders);
    return c;
}

uint32_t ctx_release(bool all, bool *ended) {
    lock_enter(&ctx_lock);
    struct context *c = ctx_primary();
    uint32_t refs = c->refs;
    *ended = refs > 0 && (all || refs == 1);
    c->refs = *ended || refs == 0 ? 0 : refs - 1;
    if (*ended) atom_store_release(&c->live, 0);
    lock_leave(&ctx_lock);
    return refs;
}

uint32_t ctx_attach(struct context *c) {
    lock_enter(&ctx_lock);
    uint32_t refs = c->refs++;
    lock_leave(&ctx_lock);
    return refs;
}

uint32_t ctx_detach(struct context *c) {
    lock_enter(&ctx_lock);
    uint32_t refs = c->refs;
    if (refs) c->refs--;
    lock_leave(&ctx_lock);
    return refs;
}

struct context *ctx_create(unsigned int flags) {
    lock_enter(&ctx_lock);
    struct context *c = table_take(&contexts, TABLE_MOST);
    if (c) {
        start(c, c->place.number, flags);
        c->refs = 1;
    }
    lock_leave(&ctx_lock);
    if (!c) refuse_more(REFUSE_CONTEXTS, TABLE_MOST);
    process_exit_watch(1);
    return c;
}

struct context *ctx_create_green(uint32_t sms) {
    struct context *c = ctx_create(0);
    if (!c) return NULL;
    c->index = CTX_PRIMARY;
    c->sms = sms;
    return c;
}

bool ctx_end(struct context *c, CUcontext handle) {
    lock_enter(&ctx_lock);
    bool mine = c->handle == handle;
    if (mine) atom_store_release(&c->live, 0);
    lock_leave(&ctx_lock);
    return mine;
}

void ctx_free(struct context *c) {
    lock_enter(&ctx_lock);
    c->generation++;
    c->handle = NULL;
    table_give(&contexts, c);
    lock_leave(&ctx_lock);
}
