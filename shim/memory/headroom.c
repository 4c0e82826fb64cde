/* SPDX-License-Identifier: Apache-2.0
 *
 * The total that the program could have at one call limits what the next call reports.
 */
#include "shim/memory/headroom.h"

#include <pthread.h>

#include "common/atomics.h"
#include "shim/connection/reply.h"
#include "shim/connection/state.h"
#include "shim/lock.h"
#include "shim/memory/mem.h"

#define SHOWN_SINCE 9 /* first minor version of the protocol with wire_obtainable */

static struct {
    uint64_t most;     /* bytes that the program could have in all, its used ones included */
    uint32_t refusals; /* value of mem_refusals at the latest call */
} seen;
static pthread_mutex_t headroom_lock = PTHREAD_MUTEX_INITIALIZER;

/* Waits for admission: the worker reads no record of a waiting job. */
static CUresult await_admission(void) {
    const struct wire_obtainable *o = &state.conn.completion->obtainable;
    struct wire_ping rec = {.rec = {.op = WIRE_PING}};
    bool shown = atom_load_relaxed(&o->persistent) || atom_load_relaxed(&o->ephemeral);
    return shown ? CUDA_SUCCESS : reply_call(&rec, sizeof(rec), NULL, 0, NULL);
}

/* Returns a steady number of free bytes. The caller holds the lock. */
static uint64_t steady(uint64_t used, uint64_t most) {
    uint32_t refusals = atom_load_relaxed(&mem_refusals);
    if (!used || used > seen.most || refusals != seen.refusals || most < seen.most)
        seen.most = most;
    seen.refusals = refusals;
    return seen.most > used ? seen.most - used : 0;
}

CUresult headroom_look(uint64_t *free_bytes) {
    uint64_t total = state.conn.device.memory_bytes, used;
    if (state.conn.minor < SHOWN_SINCE) { /* an older daemon does not report it */
        used = mem_used();
        *free_bytes = used < total ? total - used : 0;
        return CUDA_SUCCESS;
    }
    CUresult r = await_admission();
    if (r) return r;
    uint64_t free = mem_free();
    used = mem_used();
    lock_enter(&headroom_lock);
    uint64_t shown = steady(used, used + free);
    lock_leave(&headroom_lock);
    *free_bytes = shown < free ? shown : free;
    if (*free_bytes > total) *free_bytes = total;
    return CUDA_SUCCESS;
}
