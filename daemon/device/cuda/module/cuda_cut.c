/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/cuda/module/cuda_cut.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/err.h"
#include "common/log.h"
#include "daemon/device/cuda/module/cuda_source.h"
#include "daemon/device/soft/ptx/ptx_parse.h"
#include "daemon/device/subgrid/subgrid.h"
#include "daemon/device/subgrid/subgrid_rewrite.h"

#define WHY_BYTES 256

/* Makes the PTX of the second module, which the caller frees. */
static int rewrite(const struct cuda_source *s, char **text, char *why) {
    struct ptx_module *m = NULL;
    int err = ptx_parse(s->text, s->bytes, &m, why, WHY_BYTES);
    if (err) return err;
    err = subgrid_rewrite(s->text, s->bytes, m, text, why, WHY_BYTES);
    ptx_module_free(m);
    return err;
}

static int make_text(const struct context *c, const void *image, size_t bytes, char **text,
                     char *why) {
    struct cuda_source s;
    int err = cuda_source_open(&s, c, image, bytes, why, WHY_BYTES);
    if (err) return err;
    if (s.compiled) {
        err = rewrite(&s, text, why);
    } else {
        snprintf(why, WHY_BYTES, "the module is machine code");
        err = -ENOTSUP;
    }
    cuda_source_close(&s);
    return err;
}

int cuda_cut_load(struct context *c, const void *image, size_t bytes, CUmodule *out) {
    char why[WHY_BYTES] = "", *text = NULL;
    *out = NULL;
    int err = make_text(c, image, bytes, &text, why);
    if (!err) {
        CUresult r = c->driver.cuModuleLoadDataEx(out, text, 0, NULL, NULL);
        err = context_result(c, r);
        if (err) snprintf(why, sizeof(why), "%s", driver_name(&c->driver, r));
        if (err) *out = NULL;
    }
    free(text);
    if (err) log_info("device", "event=no_subgrids text=\"%s\"", why);
    return err == -ENOMEM || err == ERR_DEVICE_LOST ? err : 0;
}

void cuda_cut_unload(struct context *c, CUmodule module) {
    if (module) context_result(c, c->driver.cuModuleUnload(module));
}

/* True when our parameters lie at the expected offsets, and are the last. This check is needed
 * because `count`, the number of the whole kernel's parameters, may be wrong: it was found by
 * asking the driver for one parameter after the other until one did not exist. */
static bool is_laid_out(const struct driver *d, CUfunction cut, uint32_t count, uint32_t bytes) {
    size_t offset = 0, size = 0;
    for (uint32_t i = 0; i < SUBGRID_PARAMS; i++)
        if (d->cuFuncGetParamInfo(cut, count + i, &offset, &size) || size != 4 ||
            offset != subgrid_param_at(bytes) + 4 * i)
            return false;
    return d->cuFuncGetParamInfo(cut, count + SUBGRID_PARAMS, &offset, &size) ==
           CUDA_ERROR_INVALID_VALUE;
}

int cuda_cut_find(struct context *c, CUmodule module, const char *name,
                  const struct dev_func_info *whole, struct cuda_cut *out) {
    *out = (struct cuda_cut){0};
    if (!module) return 0;
    CUfunction handle = NULL;
    int threads = 0, shared = 0;
    const struct driver *d = &c->driver;
    CUresult r = d->cuModuleGetFunction(&handle, module, name);
    if (!r) r = d->cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, handle);
    if (!r)
        r = d->cuFuncGetAttribute(&shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, handle);
    if (r) return context_result(c, r) == ERR_DEVICE_LOST ? ERR_DEVICE_LOST : 0;
    if (!is_laid_out(d, handle, whole->param_count, whole->param_bytes)) return 0;
    *out = (struct cuda_cut){.handle = handle,
                             .max_threads = threads > 0 ? (uint32_t)threads : 0,
                             .shared_allowed = shared > 0 ? (uint32_t)shared : 0};
    return 0;
}

static CUresult allow_shared(struct context *c, struct cuda_cut *cut, uint32_t bytes) {
    if (bytes <= cut->shared_allowed) return CUDA_SUCCESS;
    CUresult r = c->driver.cuFuncSetAttribute(
        cut->handle, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)bytes);
    if (!r) cut->shared_allowed = bytes;
    return r;
}

/* Caches the latest result, because launches of a kernel are mostly alike. */
uint32_t cuda_cut_blocks(struct context *c, struct cuda_cut *cut, uint32_t threads,
                         uint32_t shared_bytes) {
    int blocks = 0;
    if (!cut->handle || threads > cut->max_threads) return 0;
    if (cut->threads == threads && cut->shared_bytes == shared_bytes) return cut->blocks;
    CUresult r = allow_shared(c, cut, shared_bytes);
    if (!r)
        r = c->driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, cut->handle,
                                                                  (int)threads, shared_bytes);
    context_result(c, r);
    cut->threads = threads;
    cut->shared_bytes = shared_bytes;
    cut->blocks = r || blocks < 0 ? 0 : (uint32_t)blocks;
    return cut->blocks;
}
