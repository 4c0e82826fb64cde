/* SPDX-License-Identifier: Apache-2.0
 *
 * A function is mostly launched in the shape in which it was launched before: it remembers that
 * entry, so that the table is asked only when the shape changes.
 */
#include "daemon/worker/kernel/profiling.h"

#include <string.h>
#include <sys/random.h>

#include "common/occupancy.h"
#include "daemon/worker/kernel/object.h"

/* A kernel for which there is no room in the table: as large as any, and of unknown class. */
static const struct sched_kernel unprofiled = {.sms = KERNEL_PROFILE_SMS_MAX};
static const struct sched_kernel copied = {.class = SCHED_CLASS_COPY};

int profiling_create(struct kernels **out, const struct dev_info *info, uint64_t now_ns) {
    struct kernels_config config = {.peak = {info->insts_s, info->bytes_s}};
    if (getrandom(&config.seed, sizeof(config.seed), 0) != sizeof(config.seed))
        config.seed = now_ns; /* worse, but no reason not to serve */
    return kernels_create(out, &config);
}

/* ---- which kernel ---------------------------------------------------------------------------- */

/* Word by word: wider loads would wait for the words that were just stored. */
static bool profiling_same(const struct func_shape *s, const struct dev_launch *l) {
    return s->grid[0] == l->grid[0] && s->grid[1] == l->grid[1] && s->grid[2] == l->grid[2] &&
           s->block[0] == l->block[0] && s->block[1] == l->block[1] && s->block[2] == l->block[2] &&
           s->shared_bytes == l->shared_bytes;
}

static struct func_shape profiling_shape(const struct dev_launch *l) {
    struct func_shape s;
    memcpy(s.grid, l->grid, sizeof(s.grid));
    memcpy(s.block, l->block, sizeof(s.block));
    s.shared_bytes = l->shared_bytes;
    return s;
}

/* "sm_needed = ceil(num_blocks / blocks_per_sm)" (Orion, section 5.2). */
static uint32_t profiling_sms(const struct dev_info *info, const struct func *f,
                              const struct func_shape *s) {
    struct occupancy_sm sm = {.threads = info->threads_per_sm,
                              .blocks = info->blocks_per_sm,
                              .regs = info->regs_per_sm,
                              .shared_bytes = info->shared_per_sm_bytes,
                              .shared_reserved_bytes = info->shared_reserved_bytes,
                              .shared_optin_bytes = info->shared_optin_bytes};
    struct occupancy_block block = {.threads = s->block[0] * s->block[1] * s->block[2],
                                    .regs = f->regs,
                                    .shared_bytes = (uint64_t)f->shared_bytes + s->shared_bytes};
    uint64_t blocks = (uint64_t)s->grid[0] * s->grid[1]; /* with the third, 64 bits may not do */
    uint32_t plane = blocks > UINT32_MAX ? UINT32_MAX : (uint32_t)blocks;
    uint32_t sms = occupancy_sms(&sm, &block, (uint64_t)plane * s->grid[2]);
    return sms < KERNEL_PROFILE_SMS_MAX ? sms : KERNEL_PROFILE_SMS_MAX;
}

static struct kernel *profiling_find(struct profiling *p, const struct func *f,
                                     const struct func_shape *s) {
    struct kernel_profile_key key = {
        .func = f->fingerprint, .shared_bytes = f->shared_bytes + s->shared_bytes, .uid = p->uid};
    memcpy(key.grid, s->grid, sizeof(key.grid));
    memcpy(key.block, s->block, sizeof(key.block));
    return kernels_intern(p->kernels, &key, f->name, profiling_sms(p->info, f, s), &p->created);
}

struct kernel *profiling_launch(struct profiling *p, struct func *f,
                                const struct dev_launch *launch) {
    if (!f->kernel || !profiling_same(&f->shape, launch)) {
        struct func_shape s = profiling_shape(launch);
        kernels_drop(p->kernels, f->kernel);
        f->kernel = profiling_find(p, f, &s);
        f->shape = s;
    }
    if (f->kernel) kernels_hold(p->kernels, f->kernel);
    return f->kernel;
}

const struct sched_kernel *profiling_sched(const struct op *op) {
    if (op->kind != WIRE_LAUNCH) return &copied;
    return op->launch.kernel ? &op->launch.kernel->sched : &unprofiled;
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
