/* SPDX-License-Identifier: Apache-2.0
 *
 * The figures are those of no particular GPU: a launch that fills an H100's SMs once takes 6 us.
 */
#include "daemon/worker/kernel/estimate.h"

#include "daemon/worker/kernel/object.h"
#include "proto/cuda/occupancy.h"

#define ESTIMATE_LAUNCH_NS 2000 /* for each launch */
#define ESTIMATE_WAVE_NS 2000   /* for each wave of its blocks */
#define ESTIMATE_THREAD_NS 1    /* for each thread of a wave on a multiprocessor */

static uint64_t blocks_of(const struct dev_launch *l) {
    /* the product of all three may exceed 64 bits */
    uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1];
    return (blocks > UINT32_MAX ? UINT32_MAX : blocks) * l->grid[2];
}

static uint32_t threads_of(const struct dev_launch *l) {
    return l->block[0] * l->block[1] * l->block[2];
}

static struct occupancy_sm sm_of(const struct dev_info *info) {
    return (struct occupancy_sm){.threads = info->threads_per_sm,
                                 .blocks = info->blocks_per_sm,
                                 .regs = info->regs_per_sm,
                                 .shared_bytes = info->shared_per_sm_bytes,
                                 .shared_reserved_bytes = info->shared_reserved_bytes,
                                 .shared_optin_bytes = info->shared_optin_bytes,
                                 .shared_unit = occupancy_shared_unit(info->cc_major)};
}

static struct occupancy_block block_of(const struct func *f, const struct dev_launch *l) {
    return (struct occupancy_block){.threads = threads_of(l),
                                    .regs = f->regs,
                                    .shared_bytes = (uint64_t)f->shared_bytes + l->shared_bytes};
}

uint32_t estimate_sms(const struct dev_info *info, const struct func *f,
                      const struct dev_launch *l) {
    struct occupancy_sm sm = sm_of(info);
    struct occupancy_block block = block_of(f, l);
    return occupancy_sms(&sm, &block, blocks_of(l));
}

static uint64_t divide_up(uint64_t a, uint64_t b) {
    return a / b + (a % b != 0);
}

uint64_t estimate_ns(const struct dev_info *info, const struct func *f,
                     const struct dev_launch *l) {
    struct occupancy_sm sm = sm_of(info);
    struct occupancy_block block = block_of(f, l);
    uint64_t blocks = blocks_of(l), each = occupancy_blocks(&sm, &block);
    if (!each) each = 1;
    uint64_t waves = divide_up(blocks, each * info->sm_count);
    if (waves > UINT32_MAX) waves = UINT32_MAX; /* already hours */
    /* blocks on one SM, if each SM held all its blocks at once */
    uint64_t most = divide_up(blocks, info->sm_count);
    uint64_t threads = (most < each ? most : each) * threads_of(l);
    return ESTIMATE_LAUNCH_NS + waves * (ESTIMATE_WAVE_NS + threads * ESTIMATE_THREAD_NS);
}
