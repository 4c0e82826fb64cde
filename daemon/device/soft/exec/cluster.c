/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the blocks of a cluster in turn until all have ended, all wait for another cluster (which
 * then runs), or the budget is used up. The blocks' shared memories lie side by side, so that the
 * address in another block follows by multiplication.
 */
#include "daemon/device/soft/exec/cluster.h"

#include "daemon/device/soft/exec/block.h"
#include "daemon/device/soft/launch/cluster_state.h"
#include "daemon/device/soft/launch/launch_memory.h"

uint64_t cluster_bytes(const struct launch_config *config) {
    return launch_cluster_size(config) * block_bytes(config);
}

static size_t struct_bytes(uint32_t size) {
    return sizeof(struct cluster) + size * sizeof(struct block *);
}

/* Takes memory for the shared memory of all blocks. Returns false if there is none. */
static bool take_shared(struct cluster *c) {
    uint64_t align = block_shared_align(&c->launch->config);
    c->shared_stride = block_shared_room(&c->launch->config);
    c->shared_room = c->size * c->shared_stride + align - LAUNCH_MEMORY_ALIGN;
    c->shared_block = launch_memory_take(c->launch->config.memory, c->shared_room);
    c->shared = c->shared_block;
    if (c->shared) c->shared += -(uintptr_t)c->shared & (align - 1);
    return c->shared;
}

struct cluster *cluster_create(struct launch *launch, uint32_t slot) {
    uint32_t size = launch_cluster_size(&launch->config);
    struct cluster *c = launch_memory_zeros(launch->config.memory, struct_bytes(size));
    if (!c) return NULL;
    c->launch = launch;
    c->size = size;
    bool ok = take_shared(c);
    for (uint32_t k = 0; ok && k < size; k++) {
        c->blocks[k] = block_create(c, k, slot * size + k);
        ok = c->blocks[k];
    }
    if (ok) return c;
    cluster_destroy(c);
    return NULL;
}

void cluster_destroy(struct cluster *c) {
    if (!c) return;
    struct launch_memory *memory = c->launch->config.memory;
    for (uint32_t k = 0; k < c->size; k++)
        block_destroy(c->blocks[k]);
    launch_memory_give(memory, c->shared_block, c->shared_room);
    launch_memory_give(memory, c, struct_bytes(c->size));
}

void cluster_begin(struct cluster *c, uint64_t linear) {
    const struct launch_config *l = &c->launch->config;
    const uint32_t x = l->grid[0] / l->cluster[0], y = l->grid[1] / l->cluster[1];
    c->index[0] = (uint32_t)(linear % x);
    c->index[1] = (uint32_t)(linear / x % y);
    c->index[2] = (uint32_t)(linear / x / y);
    c->linear = linear;
    c->next_block = 0;
    c->slices = 0;
    for (uint32_t k = 0; k < c->size; k++)
        block_begin(c->blocks[k]);
}

void cluster_settle(struct cluster *c) {
    c->next_block = 0;
    c->slices = 0;
    for (uint32_t k = 0; k < c->size; k++)
        block_settle(c->blocks[k]);
}

/* Called when no block can run. First completes an operation without the lanes that will never
 * arrive; if there is none, the cluster is deadlocked. Returns false if the cluster has ended: by
 * deadlock or a fault. */
static bool unstick(struct cluster *c) {
    struct block *waiting = NULL;
    for (uint32_t k = 0; k < c->size; k++) {
        struct block *b = c->blocks[k];
        if (!block_live(b)) continue;
        if (block_unstick(b)) return !b->fault.err;
        if (!waiting) waiting = b;
    }
    if (waiting) block_deadlock(waiting);
    return false;
}

/* Summary of one turn over all blocks. */
struct turn {
    bool live, moved, spins;
};

/* Runs one block. Returns true when the turn ends early: the budget is used up or the cluster has
 * ended. */
static bool run_block(struct cluster *c, uint32_t k, int64_t *budget, struct turn *t, bool *ended) {
    struct block *b = c->blocks[k];
    if (!block_live(b)) return false;
    int64_t before = *budget;
    enum block_outcome outcome = block_run(b, budget);
    *ended = b->fault.err;
    t->live |= block_live(b);
    t->spins |= outcome == BLOCK_SPINS;
    t->moved |= *budget != before;
    if (outcome == BLOCK_MORE) c->next_block = (k + 1) % c->size;
    return outcome == BLOCK_MORE || *ended;
}

bool cluster_run(struct cluster *c, int64_t *budget) {
    c->slices++;
    for (;;) {
        struct turn t = {0};
        bool ended = false;
        for (uint32_t k = 0, first = c->next_block; k < c->size; k++)
            if (run_block(c, (first + k) % c->size, budget, &t, &ended)) return ended;
        if (!t.live) return true;
        if (t.spins || *budget <= 0) return false;
        if (!t.moved && !unstick(c)) return true;
    }
}
