/* SPDX-License-Identifier: Apache-2.0
 *
 * The values in a cubin come from a client: sizes are added with overflow checks, and a kernel's
 * parameters must lie within the parameter size that the cubin gives.
 */
#include "daemon/device/soft/dev/described.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"

#define VAR_ALIGN 256 /* alignment that cuModuleGetGlobal promises for any variable */

/* ---- variables ------------------------------------------------------------------------------- */

bool described_managed(const struct image *image) {
    for (uint32_t i = 0; i < image->var_count; i++)
        if (image->vars[i].managed) return true;
    return false;
}

/* Computes the offset of each variable, from 0 on. Returns the total size, or UINT64_MAX when it is
 * too large. */
static uint64_t lay_out(const struct image *image, uint64_t *addrs) {
    uint64_t end = 0;
    for (uint32_t i = 0; i < image->var_count; i++) {
        uint64_t at = (end + VAR_ALIGN - 1) & ~(uint64_t)(VAR_ALIGN - 1);
        if (image->vars[i].bytes > UINT32_MAX || at > UINT32_MAX) return UINT64_MAX;
        addrs[i] = at;
        end = at + image->vars[i].bytes;
    }
    return end;
}

int described_place(const struct image *image, const struct code_env *env, uint64_t **addrs,
                    char *why, size_t why_bytes) {
    *addrs = calloc(image->var_count + 1u, sizeof(**addrs));
    if (!*addrs) return -ENOMEM;
    uint64_t bytes = lay_out(image, *addrs), base = 0;
    if (bytes && bytes != UINT64_MAX) base = env->alloc(env->arg, bytes, VAR_ALIGN);
    if (bytes && !base) {
        snprintf(why, why_bytes,
                 "the cubin's variables do not fit into the module window (window_module_bytes)");
        return ERR_NO_MEMORY;
    }
    for (uint32_t i = 0; i < image->var_count; i++) {
        const struct image_var *v = &image->vars[i];
        (*addrs)[i] += base;
        if (v->init && !env->filled) memcpy((void *)(uintptr_t)(*addrs)[i], v->init, v->bytes);
    }
    return 0;
}

int described_global_get(const struct image *image, const uint64_t *addrs, const char *name,
                         uint64_t *addr, uint64_t *bytes) {
    for (uint32_t i = 0; addrs && i < image->var_count; i++) {
        if (strcmp(image->vars[i].name, name) != 0) continue;
        *addr = addrs[i];
        *bytes = image->vars[i].bytes;
        return 0;
    }
    return ERR_NOT_FOUND;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static uint32_t between(uint32_t least, uint32_t n, uint32_t most) {
    return n < least ? least : n > most ? most : n;
}

/* Reads the parameters. Some cubins do not give their total size. */
static int take_params(const struct image_kernel *k, struct dev_func_info *info,
                       struct dev_param **params) {
    uint32_t end = 0;
    struct dev_param *p = calloc(k->param_count + 1u, sizeof(*p));
    *params = p;
    if (!p) return -ENOMEM;
    for (uint32_t i = 0; i < k->param_count; i++) {
        p[i] = (struct dev_param){k->params[i].offset, k->params[i].bytes};
        if (p[i].offset + p[i].bytes > end) end = p[i].offset + p[i].bytes;
    }
    info->params = p;
    info->param_count = k->param_count;
    info->param_bytes = k->param_bytes ? k->param_bytes : end;
    return end <= info->param_bytes ? 0 : ERR_INVALID_IMAGE;
}

int described_func(const struct image *image, uint32_t index, uint32_t capability,
                   struct dev_func_info *info, struct dev_param **params, char *why,
                   size_t why_bytes) {
    const struct image_kernel *k = &image->kernels[index];
    *info = (struct dev_func_info){
        .regs = between(16, k->regs, 255),
        .shared_bytes = k->shared_bytes,
        .local_bytes = k->local_bytes,
        .const_bytes = k->const_bytes,
        .max_threads = k->max_threads ? between(1, k->max_threads, 1024) : 1024,
        .ptx_version = image->cubin_target,
        .binary_version = capability,
    };
    int err = take_params(k, info, params);
    if (err == ERR_INVALID_IMAGE)
        snprintf(why, why_bytes, "the kernel's parameters exceed the size that the cubin gives");
    return err;
}
