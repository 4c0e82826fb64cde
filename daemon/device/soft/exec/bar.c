/* SPDX-License-Identifier: Apache-2.0
 *
 * Barriers of a block: bar and barrier in their .sync, .arrive and .red forms. Arrivals are counted
 * per lane, so that diverged lanes of a warp may arrive one after the other and from different
 * instructions. The explicit count of a barrier means whole warps: with a warp's last lane arrive
 * those that the warp never had or that have exited. Lanes that exit leave the barrier.
 */
#include "daemon/device/soft/exec/bar.h"

#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/launch/cluster_state.h"

/* Values of code_inst.vec for barrier.cluster. */
enum { BAR_CLUSTER_ARRIVE = 1, BAR_CLUSTER_WAIT = 2 };

/* Writes the result of bar.red for the lanes of a split that waited. */
static void give_result(struct warp_ctx *x, const struct split *s, const struct barrier *b) {
    const struct code_inst *i = &s->frame->func->insts[s->pc];
    if (i->d == CODE_NO_SLOT) return;
    struct warp w = {.regs = s->frame->regs, .consts = s->frame->func->consts};
    uint32_t *d = SLOT(uint32_t, &w, i->d);
    if (i->sub == PTX_SUB_POPC) {
        for (uint32_t left = s->mask; left; left &= left - 1)
            d[__builtin_ctz(left)] = b->true_count;
        return;
    }
    bool all = b->true_count == b->arrived, any = b->true_count != 0;
    bool value = i->sub == PTX_SUB_AND ? all : any;
    *d = (*d & ~s->mask) | (value ? s->mask : 0);
    (void)x;
}

static void open_barrier(struct block *block, uint32_t id) {
    struct barrier *b = &block->barriers[id];
    for (uint32_t w = 0; w < block->warp_count; w++) {
        struct warp_ctx *x = &block->warps[w];
        for (uint32_t k = 0; k < x->split_count; k++) {
            struct split s = x->splits[k];
            if (s.state != SPLIT_BAR || s.bar != id) continue;
            give_result(x, &s, b);
            x->splits[k--] = x->splits[--x->split_count];
            warp_split_add(x, s.frame, s.pc + 1, s.mask, SPLIT_RUN, 0);
        }
    }
    uint32_t phase = b->phase + 1;
    memset(b, 0, sizeof(*b));
    b->phase = phase;
}

static bool is_complete(const struct block *block, const struct barrier *b) {
    if (!b->arrived) return false;
    if (!b->expected) return b->arrived >= block->live_threads;
    uint32_t count = b->arrived;
    for (uint32_t w = 0; w < block->warp_count; w++) {
        uint32_t live = block->warps[w].live;
        if (b->lanes[w] && (b->lanes[w] & live) == live)
            count += WARP_LANES - (uint32_t)__builtin_popcount(b->lanes[w]);
    }
    return count >= b->expected;
}

/* True if all threads of the cluster that have not exited have arrived. The counts alone do not
 * show this, since some threads may arrive and then exit. */
static bool is_cluster_complete(const struct cluster *c) {
    uint64_t arrived = 0, live = 0;
    for (uint32_t k = 0; k < c->size; k++) {
        arrived += c->blocks[k]->barriers[CODE_CLUSTER_BARRIER].arrived;
        live += c->blocks[k]->live_threads;
    }
    if (!arrived || arrived < live) return false;
    for (uint32_t k = 0; k < c->size; k++) {
        const struct block *b = c->blocks[k];
        for (uint32_t w = 0; w < b->warp_count; w++)
            if (b->warps[w].live & ~b->barriers[CODE_CLUSTER_BARRIER].lanes[w]) return false;
    }
    return true;
}

/* Opens the barrier if no thread is missing. The cluster's barrier opens for all blocks at once. */
static void settle(struct block *block, uint32_t id) {
    struct cluster *c = block->cluster;
    if (id != CODE_CLUSTER_BARRIER) {
        if (is_complete(block, &block->barriers[id])) open_barrier(block, id);
        return;
    }
    for (uint32_t k = 0, all = is_cluster_complete(c); all && k < c->size; k++)
        open_barrier(c->blocks[k], id);
}

#define GROUP_WARPS 4

/* Lets a group of four warps continue when all of its lanes that have not exited wait. */
static void settle_group(struct block *block, uint32_t group) {
    const uint32_t first = group * GROUP_WARPS;
    struct barrier *b = &block->barriers[CODE_GROUP_BARRIER];
    uint32_t last = first + GROUP_WARPS;
    if (last > block->warp_count) last = block->warp_count;
    for (uint32_t w = first; w < last; w++)
        if (block->warps[w].live & ~b->lanes[w]) return;
    for (uint32_t w = first; w < last; w++) {
        struct warp_ctx *x = &block->warps[w];
        for (uint32_t k = 0; k < x->split_count; k++) {
            const struct split s = x->splits[k];
            if (s.state != SPLIT_BAR || s.bar != CODE_GROUP_BARRIER) continue;
            x->splits[k--] = x->splits[--x->split_count];
            warp_split_add(x, s.frame, s.pc + 1, s.mask, SPLIT_RUN, 0);
        }
        b->arrived -= (uint32_t)__builtin_popcount(b->lanes[w]);
        b->lanes[w] = 0;
    }
}

/* The last lanes to arrive continue without a new pick: their split is taken back if it is the
 * warp's only one, which is the usual case. */
static bool goes_on(struct warp_ctx *x, uint32_t mask) {
    if (x->split_count != 1 || x->splits[0].state != SPLIT_RUN || x->splits[0].mask != mask)
        return false;
    x->split_count = 0;
    return true;
}

static bool arrive_in_group(struct warp_ctx *x, int32_t pc, uint32_t mask) {
    struct barrier *b = &x->block->barriers[CODE_GROUP_BARRIER];
    b->arrived += (uint32_t)__builtin_popcount(mask & ~b->lanes[x->id]);
    b->lanes[x->id] |= mask;
    warp_split_add(x, x->frame, pc, mask, SPLIT_BAR, CODE_GROUP_BARRIER);
    settle_group(x->block, x->id / GROUP_WARPS);
    return goes_on(x, mask);
}

/* Returns the lanes of the running split that use the same barrier and count as the first lane of
 * `mask`. */
static uint32_t arriving_group(struct warp_ctx *x, const struct code_inst *i, uint32_t mask,
                               uint32_t *id, uint32_t *expected) {
    const uint32_t *ids = i->a == CODE_NO_SLOT ? NULL : SLOT(uint32_t, &x->w, i->a);
    const uint32_t *counts = i->b == CODE_NO_SLOT ? NULL : SLOT(uint32_t, &x->w, i->b);
    uint32_t first = (uint32_t)__builtin_ctz(mask), group = 0;
    *id = ids ? ids[first] : i->target >= 0 ? (uint32_t)i->target : 0;
    *expected = counts ? counts[first] : 0;
    if (i->a < 0 && i->b < 0) return mask; /* constants, the usual case */
    for (uint32_t left = mask; left; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        if ((!ids || ids[lane] == *id) && (!counts || counts[lane] == *expected))
            group |= 1u << lane;
    }
    return group;
}

static void enter_barrier(struct warp_ctx *x, const struct code_inst *i, struct barrier *b,
                          uint32_t expected, uint32_t mask) {
    if (expected) b->expected = expected;
    b->arrived += (uint32_t)__builtin_popcount(mask & ~b->lanes[x->id]);
    b->lanes[x->id] |= mask;
    if (i->c == CODE_NO_SLOT) return;
    uint32_t p = code_pred(&x->w, i->c);
    b->true_count += (uint32_t)__builtin_popcount((i->c_neg ? ~p : p) & mask);
}

/* barrier.cluster: the barrier opens when all threads have arrived, and a wait lasts until then. A
 * lane waits for the phase in which it arrived. All threads must arrive before any may wait twice,
 * so a lane that has not arrived in the present phase has nothing to wait for. */
static bool wait_for_cluster(struct warp_ctx *x, int32_t pc, uint32_t mask) {
    struct barrier *b = &x->block->barriers[CODE_CLUSTER_BARRIER];
    uint32_t wait = mask & b->lanes[x->id];
    if (!wait) return true;
    warp_split_add(x, x->frame, pc, wait, SPLIT_BAR, CODE_CLUSTER_BARRIER);
    warp_split_add(x, x->frame, pc + 1, mask & ~wait, SPLIT_RUN, 0);
    return false;
}

bool bar_arrive(struct warp_ctx *x, const struct code_inst *i, int32_t pc, uint32_t mask) {
    struct block *block = x->block;
    if (i->vec == BAR_CLUSTER_WAIT && i->target == CODE_CLUSTER_BARRIER)
        return wait_for_cluster(x, pc, mask);
    if (i->target == CODE_GROUP_BARRIER) return arrive_in_group(x, pc, mask);
    bool waits = !(i->mods & PTX_MOD_ARRIVE) && i->target != CODE_CLUSTER_BARRIER;
    uint32_t all = mask;
    while (mask) {
        uint32_t id, expected;
        uint32_t group = arriving_group(x, i, mask, &id, &expected);
        if (id > CODE_CLUSTER_BARRIER || (id == CODE_CLUSTER_BARRIER && i->target < 0)) {
            warp_fault(&x->w, i, (uint32_t)__builtin_ctz(mask), ERR_ILLEGAL_INSTRUCTION, id,
                       "the barrier's number exceeds 15");
            return false;
        }
        struct barrier *b = &block->barriers[id];
        enter_barrier(x, i, b, expected, group);
        if (waits) warp_split_add(x, x->frame, pc, group, SPLIT_BAR, id);
        settle(block, id);
        mask &= ~group;
    }
    return !waits || goes_on(x, all);
}

void bar_lanes_gone(struct block *block) {
    for (uint32_t id = 0; id < CODE_CLUSTER_BARRIER; id++)
        if (block->barriers[id].arrived) settle(block, id);
    settle(block, CODE_CLUSTER_BARRIER);
    for (uint32_t w = 0; block->barriers[CODE_GROUP_BARRIER].arrived && w < block->warp_count;
         w += GROUP_WARPS)
        settle_group(block, w / GROUP_WARPS);
}
