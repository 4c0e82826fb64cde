/* SPDX-License-Identifier: Apache-2.0
 *
 * A function is mostly launched in the shape in which it was launched before: it remembers that
 * entry, so that the table is asked only when the shape changes, or had no room for it.
 */
#include "daemon/worker/kernel/profiling.h"

#include <string.h>

#include "common/occupancy.h"
#include "daemon/worker/kernel/object.h"

const struct sched_kernel profiling_unknown = {.sms = KERNEL_PROFILE_SMS_MAX};
const struct sched_kernel profiling_copy = {.class = SCHED_CLASS_COPY};

int profiling_create(struct kernels **out, const struct dev_info *info, uint64_t seed) {
    struct kernels_config config = {.peak = {info->insts_s, info->bytes_s}, .seed = seed};
    return kernels_create(out, &config);
}

/* ---- which kernel ---------------------------------------------------------------------------- */

/* "sm_needed = ceil(num_blocks / blocks_per_sm)" (Orion, section 5.2). */
static uint32_t sms_of(const struct dev_info *info, const struct func *f,
                       const struct dev_launch *l) {
    struct occupancy_sm sm = {.threads = info->threads_per_sm,
                              .blocks = info->blocks_per_sm,
                              .regs = info->regs_per_sm,
                              .shared_bytes = info->shared_per_sm_bytes,
                              .shared_reserved_bytes = info->shared_reserved_bytes,
                              .shared_optin_bytes = info->shared_optin_bytes};
    struct occupancy_block block = {.threads = l->block[0] * l->block[1] * l->block[2],
                                    .regs = f->regs,
                                    .shared_bytes = (uint64_t)f->shared_bytes + l->shared_bytes};
    uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1]; /* with the third, 64 bits may not do */
    uint32_t plane = blocks > UINT32_MAX ? UINT32_MAX : (uint32_t)blocks;
    uint32_t sms = occupancy_sms(&sm, &block, (uint64_t)plane * l->grid[2]);
    return sms < KERNEL_PROFILE_SMS_MAX ? sms : KERNEL_PROFILE_SMS_MAX;
}

static struct kernel *find_kernel(struct profiling *p, const struct func *f,
                                  const struct dev_launch *l) {
    struct kernel_profile_key key = {
        .func = f->fingerprint, .shared_bytes = f->shared_bytes + l->shared_bytes, .uid = p->uid};
    memcpy(key.grid, l->grid, sizeof(key.grid));
    memcpy(key.block, l->block, sizeof(key.block));
    return kernels_intern(p->kernels, &key, f->name, sms_of(p->info, f, l), &p->created);
}

void profiling_shape(struct profiling *p, struct func *f, const struct wire_launch *l) {
    struct func_shape *s = &f->shape;
    memcpy(s->sent, &l->func, sizeof(s->sent));
    s->launch = (struct dev_launch){.func = f->dev,
                                    .grid = {l->grid[0], l->grid[1], l->grid[2]},
                                    .block = {l->block[0], l->block[1], l->block[2]},
                                    .cluster = {wire_cluster_side(l->flags, 0),
                                                wire_cluster_side(l->flags, 1),
                                                wire_cluster_side(l->flags, 2)},
                                    .shared_bytes = l->shared_bytes,
                                    .cooperative = (l->flags & WIRE_LAUNCH_COOPERATIVE) != 0,
                                    .param_bytes = l->param_bytes};
    s->fingerprint = object_shape_fingerprint(f->fingerprint, s->launch.grid, s->launch.block);
    kernels_drop(p->kernels, s->kernel);
    s->kernel = find_kernel(p, f, &s->launch);
}

/* ---- what its end says ----------------------------------------------------------------------- */

/* What failed or was cancelled says nothing of the kernel. */
void profiling_ended(struct kernels *k, struct op *op, uint64_t mixed_ns) {
    const struct dev_op *d = &op->dev;
    if (op->kind != WIRE_LAUNCH || !op->launch.kernel || d->result || d->end_ns < d->start_ns)
        return;
    kernels_sample(k, op->launch.kernel, d->end_ns - d->start_ns, mixed_ns < d->start_ns);
    if (d->thread_insts) kernels_counts(k, op->launch.kernel, d->thread_insts, d->memory_bytes);
}
