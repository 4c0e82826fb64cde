/* SPDX-License-Identifier: Apache-2.0
 *
 * Instantiates, launches and destroys executable graphs.
 */
#include "shim/graph_exec/exec.h"

#include <stdlib.h>

#include "shim/code/resolve.h"
#include "shim/connection/refuse.h"
#include "shim/connection/state.h"
#include "shim/connection/wait.h"
#include "shim/context/stream.h"
#include "shim/graph/address_range.h"
#include "shim/graph/graph_memory.h"
#include "shim/graph/registry.h"
#include "shim/graph_exec/node_update.h"
#include "shim/lock.h"
#include "shim/memory/mem.h"

static uint32_t offers; /* executable graphs that kernels may launch; protected by graph_lock */

struct exec *exec_find(CUgraphExec handle) {
    return registry_find(HANDLE_GRAPH_EXEC, handle);
}

void exec_changed(struct exec *e) {
    if (e->program) program_retire(e->program, NULL);
    e->program = NULL;
    e->stale = true;
}

/* ---- the program ----------------------------------------------------------------------------- */

/* Returns the handle by which kernels may launch the graph; 0: they may not. */
static uint64_t offered_handle(const struct exec *e) {
    bool offered = e->flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
    return offered ? (uint64_t)(uintptr_t)e->handle : 0;
}

/* Returns the program, held: the existing one, or a new one that must still be sent (`fresh`). The
 * caller holds the lock. */
static CUresult find_program(struct exec *e, struct program **p, bool *fresh,
                             struct function **ask) {
    CUresult r = CUDA_SUCCESS;
    *ask = NULL;
    if (e->program && !program_current(e->program)) exec_changed(e);
    *p = e->program;
    *fresh = !*p;
    if (*fresh) r = program_build(e->graph, offered_handle(e), p, ask);
    if (!r) program_hold(*p);
    return r;
}

/* Stores the program. Two threads may each have built one. The caller holds the lock. */
static void keep_program(struct exec *e, struct program *p) {
    if (e->program) program_retire(e->program, NULL);
    e->program = p;
}

/* Returns a program that the worker has. The caller does not hold the lock; the handle must stay
 * valid, as the program promises. */
static CUresult take_program(struct exec *e, struct program **p) {
    for (;;) {
        struct function *ask;
        bool fresh;
        lock_enter(&graph_lock);
        CUresult r = find_program(e, p, &fresh, &ask);
        lock_leave(&graph_lock);
        if (r && !ask) return r;
        if (ask) {
            r = resolve_ready(ask);
            if (r) return r;
            continue;
        }
        if (!fresh) return CUDA_SUCCESS;
        r = program_say(*p);
        lock_enter(&graph_lock);
        keep_program(e, *p);
        if (r) program_drop(*p);
        lock_leave(&graph_lock);
        return r;
    }
}

/* Writes the program's settings of nodes that kernels change, over the kernels' own, for later
 * launches only. Waits for the latest launch first. The caller does not hold the lock. */
static CUresult write_changing(struct exec *e) {
    lock_enter(&graph_lock);
    bool todo = e->stale && node_update_stale(e->graph);
    struct program_point at = e->latest;
    e->stale = todo;
    lock_leave(&graph_lock);
    if (!todo) return CUDA_SUCCESS;
    CUresult r = at.seq ? wait_stream(at.stream, at.seq) : CUDA_SUCCESS;
    if (r) return r;
    lock_enter(&graph_lock);
    node_update_write(e->graph);
    e->stale = false;
    lock_leave(&graph_lock);
    return CUDA_SUCCESS;
}

static void give_program(struct program *p) {
    lock_enter(&graph_lock);
    program_drop(p);
    lock_leave(&graph_lock);
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Creates an executable graph. The caller holds the lock. */
static CUresult make(CUgraph handle, uint64_t flags, struct exec **out) {
    const struct graph *g = graph_find(handle);
    if (!g) return CUDA_ERROR_INVALID_VALUE;
    bool offered = flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
    bool full = offered && offers == WIRE_GRAPH_OFFERS;
    struct exec *e = full ? NULL : calloc(1, sizeof(*e));
    if (full) refuse_more(REFUSE_OFFERS, WIRE_GRAPH_OFFERS);
    if (!e) return CUDA_ERROR_OUT_OF_MEMORY;
    e->flags = flags;
    e->stale = true;
    CUresult r = graph_is_claimed(g) ? CUDA_ERROR_NOT_SUPPORTED : graph_clone(g, false, &e->graph);
    if (!r) e->handle = registry_add(HANDLE_GRAPH_EXEC, e);
    if (!r && e->handle) {
        graph_claim(e->graph, true);
        offers += offered;
        *out = e;
        return CUDA_SUCCESS;
    }
    graph_free(e->graph);
    free(e);
    return r ? r : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Destroys an executable graph. Launches in flight continue; the graph and all that it holds live
 * as long. The caller holds the lock. */
static void end(struct exec *e) {
    graph_claim(e->graph, false);
    offers -= offered_handle(e) != 0;
    registry_remove(HANDLE_GRAPH_EXEC, e->handle);
    if (e->program)
        program_retire(e->program, e->graph);
    else
        graph_free(e->graph);
    free(e);
}

static void reap(void) {
    program_reap();
    graph_memory_reap();
}

CUresult exec_create(CUgraph graph, uint64_t flags, CUgraphExec *out) {
    struct exec *e;
    struct program *p;
    reap();
    lock_enter(&graph_lock);
    CUresult r = make(graph, flags, &e);
    lock_leave(&graph_lock);
    if (r) return r;
    r = write_changing(e);
    if (!r) r = take_program(e, &p);
    if (r) {
        lock_enter(&graph_lock);
        end(e);
        lock_leave(&graph_lock);
        return r;
    }
    give_program(p);
    *out = e->handle;
    return CUDA_SUCCESS;
}

CUresult exec_destroy(CUgraphExec handle) {
    lock_enter(&graph_lock);
    struct exec *e = exec_find(handle);
    uint64_t offered = e ? offered_handle(e) : 0;
    if (e) end(e);
    lock_leave(&graph_lock);
    if (offered) program_withdraw(offered);
    reap();
    return e ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- launches -------------------------------------------------------------------------------- */

static struct exec *find(CUgraphExec handle) {
    lock_enter(&graph_lock);
    struct exec *e = exec_find(handle);
    lock_leave(&graph_lock);
    return e;
}

static CUresult try_memory(const struct exec *e, const struct program *p, uint32_t stream,
                           uint64_t *missing) {
    lock_enter(&graph_lock);
    CUresult r = program_begin_memory(p, e->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH,
                                      stream, missing);
    lock_leave(&graph_lock);
    mem_tell();
    return r;
}

/* Notes what the launch allocates and frees. If memory is short, waits for other work, which may
 * free some. */
static CUresult begin_memory(const struct exec *e, const struct program *p, uint32_t stream) {
    uint64_t missing;
    CUresult r, full = CUDA_SUCCESS;
    while ((r = try_memory(e, p, stream, &missing)) && missing && !full) {
        full = address_range_supply(missing);
        if (full && stream_drain()) break;
    }
    return r;
}

static void end_launch(struct program *p, uint32_t stream, uint64_t seq) {
    lock_enter(&graph_lock);
    program_end_memory(p, stream, seq);
    program_drop(p);
    lock_leave(&graph_lock);
}

/* The most pageable memory that a launch may copy while the one before is in flight; launches that
 * read more wait for that one, so that copies do not accumulate. */
#define READ_BYTES (64u << 10)

static CUresult await_readers(const struct exec *e, const struct program *p) {
    if (program_early_bytes(p) <= READ_BYTES) return CUDA_SUCCESS;
    lock_enter(&graph_lock);
    struct program_point at = e->latest;
    lock_leave(&graph_lock);
    return at.seq ? wait_stream(at.stream, at.seq) : CUDA_SUCCESS;
}

CUresult exec_launch(CUgraphExec handle, struct stream *s) {
    struct exec *e = find(handle);
    struct program *p;
    if (!e) return CUDA_ERROR_INVALID_VALUE;
    program_reap();
    CUresult r = write_changing(e);
    if (!r) r = take_program(e, &p);
    if (r) return r;
    r = await_readers(e, p);
    if (!r) r = begin_memory(e, p, s->id);
    if (r) {
        give_program(p);
        return r;
    }
    r = program_launch(p, s, &e->latest);
    struct program_point at = e->latest;
    bool wait = state.launch_blocking || program_awaited(p);
    end_launch(p, at.stream, r ? 0 : at.seq);
    return r || !wait ? r : wait_stream(at.stream, at.seq);
}

CUresult exec_upload(CUgraphExec handle) {
    struct exec *e = find(handle);
    struct program *p;
    if (!e) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = write_changing(e);
    if (!r) r = take_program(e, &p);
    if (!r) give_program(p);
    return r;
}
