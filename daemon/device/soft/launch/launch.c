/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of a launch that outlive the call that requested it.
 */
#include "daemon/device/soft/launch/launch.h"

#include <errno.h>

#include "common/atomics.h"
#include "daemon/device/soft/launch/clock.h"
#include "daemon/device/soft/launch/launch_memory.h"

#define LAUNCH_MAX_FRAME_BYTES (512ll << 20)
/* Frames hold registers that a device's compiler keeps off the stack. So they may take this many
 * times the size of the stacks that the program asked for. */
#define LAUNCH_DEEP_TIMES 4u
#define LAUNCH_DEEP_BYTES (1ull << 30)

static _Atomic uint64_t launch_serials;

/* Parameter bytes of the launch. If fewer are given than declared, the rest is zero. */
static uint32_t param_bytes(const struct code_kernel *k, uint32_t given) {
    uint32_t declared = k->entry->ptx->param_bytes;
    return given < declared ? declared : given;
}

static size_t param_align(const struct code_kernel *k) {
    const struct ptx_func *f = k->entry->ptx;
    size_t align = 64;
    for (uint32_t i = 0; i < f->param_count; i++)
        if (f->params[i]->align > align) align = f->params[i]->align;
    return align;
}

size_t launch_param_room(const struct code_kernel *k, uint32_t given) {
    return param_bytes(k, given) + param_align(k); /* never empty */
}

unsigned char *launch_param_place(const struct code_kernel *k, void *room) {
    size_t align = param_align(k);
    return (unsigned char *)room + (-(uintptr_t)room & (align - 1));
}

int launch_init(struct launch *l, const struct launch_config *config) {
    *l = (struct launch){.config = *config};
    l->config.param_bytes = param_bytes(config->kernel, config->param_bytes);
    l->clustered = config->cluster[0];
    for (int k = 0; k < 3; k++)
        if (!config->cluster[k]) l->config.cluster[k] = 1;
    if (config->cooperative) {
        l->workspace = launch_memory_zeros(config->memory, LAUNCH_WORKSPACE_BYTES);
        if (!l->workspace) return -ENOMEM;
    }
    if (config->ranges) l->config.ranges = ranges_ref(config->ranges);
    l->serial =
        config->counts ? ++config->counts->launches : atom_add_relaxed(&launch_serials, 1) + 1;
    return 0;
}

void launch_finish(struct launch *l) {
    if (l->config.ranges) ranges_unref(l->config.ranges);
    launch_memory_give(l->config.memory, l->workspace, LAUNCH_WORKSPACE_BYTES);
}

void launch_stop(struct launch *l) {
    atom_store_relaxed(&l->stopping, true);
}

bool launch_stopping(const struct launch *l) {
    return atom_load_relaxed((_Atomic bool *)&l->stopping);
}

uint64_t launch_deep(const struct launch *l) {
    const uint32_t *block = l->config.block;
    uint64_t stacks = (uint64_t)block[0] * block[1] * block[2] * l->config.stack_bytes;
    return LAUNCH_DEEP_TIMES * stacks < LAUNCH_DEEP_BYTES ? LAUNCH_DEEP_TIMES * stacks
                                                          : LAUNCH_DEEP_BYTES;
}

bool launch_charge(struct launch *l, int64_t bytes) {
    int64_t before = atom_add_relaxed(&l->frame_bytes, bytes);
    int64_t most = LAUNCH_MAX_FRAME_BYTES + 2 * (int64_t)launch_deep(l);
    if (bytes < 0 || before + bytes <= most) return true;
    atom_sub_relaxed(&l->frame_bytes, bytes);
    return false;
}
