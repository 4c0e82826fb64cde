/* SPDX-License-Identifier: Apache-2.0
 *
 * A function is mostly launched in one shape. It remembers that shape's entry, so that the table is
 * searched only when the shape changes or had no entry.
 */
#include "daemon/worker/kernel/launch_profile.h"

#include <string.h>

#include "daemon/worker/kernel/estimate.h"
#include "daemon/worker/kernel/object.h"

#define LAUNCH_PROFILE_FIRST 32u /* the first launches of a kernel, all of them timed */
#define LAUNCH_PROFILE_EACH 64u  /* then one of this many launches of its job */
/* Makes fingerprints of launches that compute nothing differ from those of computed launches. */
#define LAUNCH_PROFILE_NULL 0x6e756c6c6e756c6cull

const struct sched_kernel launch_profile_unknown = {.sms = KERNEL_PROFILE_SMS_MAX};
const struct sched_kernel launch_profile_copy = {.class = SCHED_CLASS_COPY};

int launch_profile_create(struct kernels **out, const struct dev_info *info, uint64_t seed) {
    struct kernels_config config = {.peak = {info->insts_s, info->bytes_s}, .seed = seed};
    return kernels_create(out, &config);
}

/* ---- finding the entry ----------------------------------------------------------------------- */

/* The entry for a null job's launch, apart from the entry of computed launches, which has their
 * measurements. The duration is that of computed launches, a hint's, or else an estimate. */
static struct kernel *find_null(struct profiling *p, struct kernel_profile_key key,
                                const struct func *f, const struct dev_launch *l, uint32_t sms) {
    uint64_t ns = kernels_mean_ns(p->kernels, &key);
    key.func ^= LAUNCH_PROFILE_NULL;
    struct kernel *e = kernels_intern(p->kernels, &key, f->name, sms, &p->created);
    if (!ns && e) ns = e->sched.mean_ns;
    if (e) kernels_assume(e, ns ? ns : estimate_ns(p->info, f, l));
    return e;
}

static struct kernel *find_kernel(struct profiling *p, const struct func *f,
                                  const struct dev_launch *l) {
    struct kernel_profile_key key = {
        .func = f->fingerprint, .shared_bytes = f->shared_bytes + l->shared_bytes, .uid = p->uid};
    uint32_t sms = estimate_sms(p->info, f, l);
    memcpy(key.grid, l->grid, sizeof(key.grid));
    memcpy(key.block, l->block, sizeof(key.block));
    if (sms > KERNEL_PROFILE_SMS_MAX) sms = KERNEL_PROFILE_SMS_MAX;
    return p->null ? find_null(p, key, f, l, sms)
                   : kernels_intern(p->kernels, &key, f->name, sms, &p->created);
}

void launch_profile_shape(struct profiling *p, struct func *f, const struct wire_launch *l) {
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

/* ---- recording the end ----------------------------------------------------------------------- */

bool launch_profile_asks(const struct op *op) {
    const struct kernel *e = op->kind == WIRE_LAUNCH ? op->launch.kernel : NULL;
    return e && (e->profile.durations.count < LAUNCH_PROFILE_FIRST ||
                 op->launch.number % LAUNCH_PROFILE_EACH == 0);
}

/* A launch that failed or was cancelled says nothing about the kernel. */
void launch_profile_ended(struct kernels *k, struct op *op, uint64_t mixed_ns, bool coarse) {
    const struct dev_op *d = &op->dev;
    if (op->kind != WIRE_LAUNCH || !op->launch.kernel || d->result || d->end_ns < d->start_ns)
        return;
    if (!coarse || d->timed)
        kernels_sample(k, op->launch.kernel, d->end_ns - d->start_ns, mixed_ns < d->start_ns);
    if (d->thread_insts) kernels_counts(k, op->launch.kernel, d->thread_insts, d->memory_bytes);
}
