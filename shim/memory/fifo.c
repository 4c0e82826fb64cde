/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA stores a call's arguments in its FIFO, and formats them later; here the text itself is
 * stored, which may be longer. So the ring has more room than the limit says.
 */
#include "shim/memory/fifo.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

#include "common/atomics.h"
#include "proto/wire/wire.h"
#include "shim/connection/reply.h"
#include "shim/connection/state.h"
#include "shim/connection/text.h"
#include "shim/context/limits.h"
#include "shim/lock.h"
#include "shim/memory/mem.h"

#define TEXT_TIMES 4u
#define TEXT_MORE (64ull << 20) /* most bytes added to a limit */
#define WINDOW_PARTS 16u        /* a default FIFO takes at most 1/16 of the host window */

static _Atomic uint64_t
    fifo_limit;       /* the limit that the ring has, or was refused; 0: no ring was made */
static uint64_t ring; /* address of the ring; 0: the one in the completion page */
static bool busy;     /* a thread is changing the ring */
static pthread_mutex_t fifo_lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t room_for(uint64_t limit) {
    uint64_t more = limit * (TEXT_TIMES - 1);
    return limit + (more < TEXT_MORE ? more : TEXT_MORE);
}

static bool try_begin(void) {
    lock_enter(&fifo_lock);
    bool mine = !busy;
    busy = true;
    lock_leave(&fifo_lock);
    return mine;
}

/* Begins a change. The worker is asked without any lock; two threads hardly ever change the FIFO at
 * once. */
static void begin(void) {
    while (!try_begin())
        sched_yield();
}

static void end(void) {
    lock_enter(&fifo_lock);
    busy = false;
    lock_leave(&fifo_lock);
}

/* Moves the output of the old ring to a new one. A thread that copies from the old one meanwhile
 * detects that. */
static CUresult replace(uint64_t bytes) {
    uint64_t made, old = ring;
    CUresult r = mem_take(MEM_OWN, CTX_PRIMARY, 0, bytes, &made);
    mem_tell();
    if (r) return r;
    struct wire_mem rec = {.rec = {.op = WIRE_TEXT}, .addr = made, .bytes = bytes};
    r = reply_call(&rec, sizeof(rec), NULL, 0, NULL);
    if (!r) ring = made;
    if (r || old) mem_give(r ? made : old);
    return r;
}

CUresult fifo_set(uint64_t limit) {
    if (limit > state.conn.windows.host_bytes) return CUDA_ERROR_OUT_OF_MEMORY;
    if (state.conn.minor < LIMITS_FIFO_SINCE) return CUDA_SUCCESS;
    begin();
    bool same = atom_load_relaxed(&fifo_limit) == limit;
    CUresult r = same ? CUDA_SUCCESS : replace(room_for(limit));
    if (!r) atom_store_relaxed(&fifo_limit, limit);
    end();
    return r;
}

void fifo_reset(uint64_t limit) {
    if (atom_load_relaxed(&fifo_limit)) (void)fifo_set(limit);
}

/* Makes the ring of a context without a limit of its own. If the host window is too small for the
 * ring, printf output uses the completion page instead. */
static void make_first(const struct context *c) {
    uint64_t limit = limits_get(c, CU_LIMIT_PRINTF_FIFO_SIZE);
    bool fits = room_for(limit) <= state.conn.windows.host_bytes / WINDOW_PARTS;
    if (!fits || fifo_set(limit)) atom_store_relaxed(&fifo_limit, limit);
}

void fifo_launch(uint32_t calls) {
    struct context *c = ctx_current();
    if (!c) return;
    limits_use(c, calls);
    if (!(calls & WIRE_CALLS_PRINTF)) return;
    if (!atom_load_relaxed(&fifo_limit)) make_first(c);
    text_flush();
}
