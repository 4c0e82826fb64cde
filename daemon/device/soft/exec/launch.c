/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of a launch that outlive the call that asked for it.
 */
#include "daemon/device/soft/exec/launch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/atomics.h"

#define LAUNCH_MAX_FRAME_BYTES (512ll << 20)

static _Atomic uint64_t launch_serials;

/* The copy of the parameters, zeroed beyond `given` bytes, and as aligned as any of them asks: a
 * kernel may take a parameter's address. */
static unsigned char *launch_copy_params(const struct launch_config *c, uint32_t bytes) {
    const struct ptx_func *f = c->kernel->entry->ptx;
    size_t align = 64;
    for (uint32_t k = 0; k < f->param_count; k++)
        if (f->params[k]->align > align) align = f->params[k]->align;
    size_t room = (bytes + align) & ~(align - 1); /* never empty */
    unsigned char *copy = aligned_alloc(align, room);
    if (!copy) return NULL;
    memset(copy, 0, room);
    if (c->param_bytes) memcpy(copy, c->params, c->param_bytes);
    return copy;
}

int launch_init(struct launch *l, const struct launch_config *config) {
    /* A launch that brings too few bytes gives zeros for the rest. */
    uint32_t bytes = config->kernel->entry->ptx->param_bytes;
    if (bytes < config->param_bytes) bytes = config->param_bytes;
    *l = (struct launch){.config = *config};
    l->config.param_bytes = bytes;
    l->config.params = l->params = launch_copy_params(config, bytes);
    if (config->cooperative) l->workspace = aligned_alloc(64, LAUNCH_WORKSPACE_BYTES);
    if (!l->params || (config->cooperative && !l->workspace)) {
        free(l->params);
        free(l->workspace);
        return -ENOMEM;
    }
    if (l->workspace) memset(l->workspace, 0, LAUNCH_WORKSPACE_BYTES);
    if (config->ranges) l->config.ranges = ranges_ref(config->ranges);
    l->serial = atom_add_relaxed(&launch_serials, 1) + 1;
    return 0;
}

void launch_finish(struct launch *l) {
    if (l->config.ranges) ranges_unref(l->config.ranges);
    free(l->params);
    free(l->workspace);
}

void launch_stop(struct launch *l) {
    atom_store_relaxed(&l->stopping, true);
}

bool launch_stopping(const struct launch *l) {
    return atom_load_relaxed((_Atomic bool *)&l->stopping);
}

bool launch_charge(struct launch *l, int64_t bytes) {
    int64_t before = atom_add_relaxed(&l->frame_bytes, bytes);
    if (bytes < 0 || before + bytes <= LAUNCH_MAX_FRAME_BYTES) return true;
    atom_sub_relaxed(&l->frame_bytes, bytes);
    return false;
}
