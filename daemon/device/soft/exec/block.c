/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the warps of a block in turn until all wait for each other, for another block, or the budget
 * is used up. Warps that all wait for each other are deadlocked unless a block of the same cluster
 * releases them; a wait for another block lets that block run. Registers and shared memory are
 * zeroed for each block, so that runs repeat and no data leaks.
 */
#include "daemon/device/soft/exec/block.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "common/err.h"
#include "daemon/device/soft/exec/interp.h"
#include "daemon/device/soft/exec/rendezvous.h"
#include "daemon/device/soft/launch/cluster_state.h"
#include "daemon/device/soft/launch/launch_memory.h"
#include "daemon/device/soft/launch/warp.h"

/* Stack bytes of a thread whose call depth is unknown, and the limit for all threads of a block.
 * Many threads get less each, but never less than the limit that the program set. */
#define BLOCK_STACK_MAX (1ull << 20)
#define BLOCK_STACKS_MAX (64ull << 20)
/* Size from which a block's stacks are mapped rather than allocated, since they may stay
 * untouched. */
#define BLOCK_STACKS_MAPPED (64ull << 10)
#define BLOCK_STACKS_ALIGN 4096ull /* the low bits of addresses are the same in each run */

static uint32_t thread_count(const struct launch_config *c) {
    return c->block[0] * c->block[1] * c->block[2];
}

static uint64_t stack_bytes(const struct launch_config *c) {
    const struct code_kernel *k = c->kernel;
    uint64_t bytes = (k->local_bytes + 15ull) & ~15ull;
    if (!k->recursive) return bytes;
    uint64_t share = BLOCK_STACKS_MAX / thread_count(c);
    if (share > BLOCK_STACK_MAX) share = BLOCK_STACK_MAX;
    return bytes + (share > c->stack_bytes ? share : (c->stack_bytes + 15) & ~15ull);
}

/* Stacks of neighbouring lanes lie an odd number of cache lines apart, so that equal offsets spread
 * over cache sets. The unit is larger than a line where variables ask for more alignment. */
static uint64_t stride_bytes(const struct launch_config *c, uint64_t stack) {
    uint64_t unit = c->kernel->local_align > 64 ? c->kernel->local_align : 64;
    uint64_t units = (stack + unit - 1) / unit;
    return (units | 1) * unit;
}

/* Bytes of shared memory of a block, rounded up to 16. Devices round up to larger units, and
 * compilers read a whole vector where a program needs a part; reads up to the end of these 16 bytes
 * are allowed. The smaller unit finds more mistakes than a device's. */
static uint64_t shared_bytes(const struct launch_config *c) {
    uint64_t bytes = c->kernel->shared_bytes;
    if (c->shared_bytes) bytes = (uint64_t)c->kernel->dynamic_offset + c->shared_bytes;
    return c->kernel->reserved ? ((bytes + 127) & ~127ull) + CODE_RESERVED_BYTES
                               : (bytes + 15) & ~15ull;
}

uint64_t block_bytes(const struct launch_config *c) {
    uint64_t warps = (thread_count(c) + WARP_LANES - 1) / WARP_LANES, stack = stack_bytes(c);
    return warps * (sizeof(struct warp_ctx) + c->kernel->entry->reg_bytes + CODE_SLACK) +
           (stack ? warps * WARP_LANES * stride_bytes(c, stack) : 0) + shared_bytes(c);
}

uint64_t block_shared_align(const struct launch_config *c) {
    return c->kernel->shared_align > 1024 ? c->kernel->shared_align : 1024;
}

uint64_t block_shared_room(const struct launch_config *c) {
    uint64_t align = block_shared_align(c);
    return (shared_bytes(c) + align + 64) & ~(align - 1); /* never empty */
}

/* Takes zeroed memory for the stacks of all lanes. The stacks begin at a page boundary. */
static bool take_stacks(struct block *b, uint64_t bytes) {
    if (bytes < BLOCK_STACKS_MAPPED) {
        b->local_room = bytes + BLOCK_STACKS_ALIGN - LAUNCH_MEMORY_ALIGN;
        b->local = launch_memory_zeros(b->config->memory, b->local_room);
        b->stacks = (uint64_t)(uintptr_t)b->local;
        b->stacks += -b->stacks & (BLOCK_STACKS_ALIGN - 1);
        return b->local;
    }
    b->local_room = bytes;
    b->local_mapped = true;
    b->local = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (b->local == MAP_FAILED) b->local = NULL;
    b->stacks = (uint64_t)(uintptr_t)b->local;
    return b->local;
}

static void give_stacks(struct block *b) {
    if (!b->local_mapped)
        launch_memory_give(b->config->memory, b->local, b->local_room);
    else if (b->local)
        munmap(b->local, b->local_room);
}

static bool take_memory(struct block *b) {
    const struct launch_config *c = b->config;
    uint64_t stack = stack_bytes(c), stride = stride_bytes(c, stack);
    b->shared_bytes = shared_bytes(c);
    b->warps = launch_memory_zeros(c->memory, b->warp_count * sizeof(*b->warps));
    b->frames.stack_bytes = stack;
    if (!b->warps) return false;
    if (stack && !take_stacks(b, b->warp_count * WARP_LANES * stride)) return false;
    for (uint32_t k = 0; k < b->warp_count; k++) {
        struct warp_ctx *x = &b->warps[k];
        x->block = b;
        x->id = k;
        x->shared_base = (uint64_t)(uintptr_t)b->shared;
        x->shared_bytes = b->shared_bytes;
        x->cluster_base = (uint64_t)(uintptr_t)b->cluster->shared;
        x->cluster_bytes = b->cluster->size * b->cluster->shared_stride;
        x->local_bytes = stack;
        x->local_stride = stride;
        x->local_base = b->stacks + k * WARP_LANES * stride;
        x->param_base = (uint64_t)(uintptr_t)b->launch->config.params;
        x->param_bytes = c->param_bytes;
        x->root = frame_push(&b->frames, c->kernel->entry, NULL, NULL, 0);
        if (!x->root) return false;
    }
    return true;
}

struct block *block_create(struct cluster *cluster, uint32_t rank, uint32_t slot) {
    const struct launch_config *config = &cluster->launch->config;
    struct block *b = launch_memory_zeros(config->memory, sizeof(*b));
    if (!b) return NULL;
    b->launch = cluster->launch;
    b->frames.launch = cluster->launch;
    b->config = config;
    b->kernel = config->kernel;
    b->cluster = cluster;
    b->rank = rank;
    b->slot = slot;
    b->shared = (unsigned char *)(uintptr_t)cluster_address(cluster, rank, 0);
    b->threads = thread_count(config);
    b->warp_count = (b->threads + WARP_LANES - 1) / WARP_LANES;
    if (!take_memory(b)) {
        block_destroy(b);
        return NULL;
    }
    for (uint32_t t = 0; t < b->warp_count * WARP_LANES; t++) {
        struct warp_ctx *x = &b->warps[t / WARP_LANES];
        x->tid[0][t % WARP_LANES] = t % config->block[0];
        x->tid[1][t % WARP_LANES] = t / config->block[0] % config->block[1];
        x->tid[2][t % WARP_LANES] = t / config->block[0] / config->block[1];
    }
    return b;
}

void block_destroy(struct block *b) {
    if (!b) return;
    frame_pool_finish(&b->frames);
    give_stacks(b);
    launch_memory_give(b->config->memory, b->warps, b->warp_count * sizeof(*b->warps));
    launch_memory_give(b->config->memory, b, sizeof(*b));
}

void block_begin(struct block *b) {
    const uint32_t *of = b->config->cluster, *at = b->cluster->index;
    b->index[0] = at[0] * of[0] + b->rank % of[0];
    b->index[1] = at[1] * of[1] + b->rank / of[0] % of[1];
    b->index[2] = at[2] * of[2] + b->rank / of[0] / of[1];
    b->live_threads = b->threads;
    b->next_warp = 0;
    memset(b->shared, 0, b->cluster->shared_stride);
    memset(b->barriers, 0, sizeof(b->barriers));
    for (uint32_t k = 0; k < b->warp_count; k++) {
        struct warp_ctx *x = &b->warps[k];
        uint32_t threads = b->threads - k * WARP_LANES;
        x->live = threads >= WARP_LANES ? UINT32_MAX : (1u << threads) - 1;
        x->split_count = 0;
        x->boost = x->fair_lane = 0;
        x->spin = x->waits = x->stop = false;
        x->w.carry = 0;
        if (b->kernel->nests) memset(x->last_error, 0, sizeof(x->last_error));
        x->warp_insts = x->thread_insts = x->sectors = 0;
        x->root->live = x->live;
        memset(x->root->regs, 0, x->root->func->reg_bytes);
        frame_take_back(x->root);
        warp_split_add(x, x->root, 0, x->live, SPLIT_RUN, 0);
    }
}

void block_settle(struct block *b) {
    b->next_warp = 0;
    for (uint32_t k = 0; k < b->warp_count; k++)
        b->warps[k].boost = b->warps[k].fair_lane = 0;
}

bool block_live(const struct block *b) {
    return b->live_threads;
}

bool block_unstick(struct block *b) {
    for (uint32_t k = 0; k < b->warp_count; k++)
        if (rendezvous_resolve(&b->warps[k], true)) return true;
    return false;
}

void block_deadlock(struct block *b) {
    uint32_t barrier = 0, meeting = 0;
    for (uint32_t k = 0; k < b->warp_count; k++)
        for (uint32_t s = 0; s < b->warps[k].split_count; s++) {
            const struct split *w = &b->warps[k].splits[s];
            *(w->state == SPLIT_BAR ? &barrier : &meeting) += (uint32_t)__builtin_popcount(w->mask);
        }
    b->fault.err = ERR_LAUNCH_FAILED;
    snprintf(b->fault.text, sizeof(b->fault.text),
             "block (%u,%u,%u): deadlock in %s: %u threads wait at a barrier, %u for lanes of "
             "their warp",
             b->index[0], b->index[1], b->index[2], b->kernel->name, barrier, meeting);
}

enum block_outcome block_run(struct block *b, int64_t *budget) {
    for (;;) {
        bool progress = false, spins = false;
        for (uint32_t k = 0; k < b->warp_count; k++) {
            struct warp_ctx *x = &b->warps[(b->next_warp + k) % b->warp_count];
            if (!x->split_count) continue;
            int64_t before = *budget;
            enum interp_outcome outcome = interp_run(x, budget);
            if (outcome == INTERP_FAULT) return BLOCK_ENDED;
            if (outcome == INTERP_SPINS)
                spins = true;
            else if (*budget != before)
                progress = true;
            if ((*budget <= 0 && b->live_threads) || launch_stopping(b->launch)) {
                b->next_warp = (b->next_warp + k + 1) % b->warp_count;
                return b->live_threads ? BLOCK_MORE : BLOCK_ENDED;
            }
        }
        if (!b->live_threads) return BLOCK_ENDED;
        if (progress) continue;
        return spins ? BLOCK_SPINS : BLOCK_WAITS;
    }
}
