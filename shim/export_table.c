/* SPDX-License-Identifier: Apache-2.0
 *
 * Private tables: for each, the slots that the libraries of CUDA 13.0 were seen to call, and what
 * they must do there. The other slots answer "not supported". Slot 0 is the table's size in bytes,
 * but in the context storage, where it is a function.
 */
#include "shim/export_table.h"

#include <string.h>

#include "common/log.h"
#include "proto/gen/prototypes.h"
#include "shim/cls.h"
#include "shim/ctx.h"
#include "shim/function.h"
#include "shim/image.h"
#include "shim/stream.h"
#include "shim/validity.h"

static CUresult refuse(void) {
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* ---- cudart ---------------------------------------------------------------------------------- */

/* The primary context, without retaining it. */
static CUresult cudart_primary(CUcontext *out, CUdevice dev) {
    if (!out || dev != 0) return CUDA_ERROR_INVALID_VALUE;
    *out = ctx_primary()->handle;
    return CUDA_SUCCESS;
}

#define SIZE_OF(slots) ((const void *)(uintptr_t)((slots) * sizeof(void *)))

static const void *const cudart_table[13] = {
    [0] = SIZE_OF(13), [1] = refuse,  [2] = cudart_primary, [3] = refuse, [4] = refuse,
    [5] = refuse,      [6] = refuse,  [7] = refuse,         [8] = refuse, [9] = refuse,
    [10] = refuse,     [11] = refuse, [12] = refuse,
};

const void *export_table_cudart(void) {
    return cudart_table;
}

/* ---- hooks of profilers: buffers that nobody fills ------------------------------------------- */

static char hooks_functions[4096], hooks_devices[64];

static void hooks_first(void **buffer, size_t *count) {
    *buffer = hooks_functions;
    *count = 1024;
}

static void hooks_second(void **buffer, size_t *count) {
    *buffer = hooks_devices;
    *count = 14;
}

static const void *const hooks_table[7] = {
    [0] = SIZE_OF(7), [1] = refuse, [2] = hooks_first,  [3] = refuse,
    [4] = refuse,     [5] = refuse, [6] = hooks_second,
};

/* ---- threads, context storage, checks -------------------------------------------------------- */

static CUresult thread_current(CUcontext *out) {
    struct context *c = ctx_current();
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    *out = c ? c->handle : NULL;
    return CUDA_SUCCESS;
}

static CUresult succeed(void) {
    return CUDA_SUCCESS;
}

static const void *const thread_table[4] = {
    [0] = SIZE_OF(4), [1] = succeed, [2] = thread_current, [3] = succeed};

static const void *const storage_table[4] = {
    [0] = cls_put, [1] = cls_delete, [2] = cls_get, [3] = refuse};

static CUresult checks_context(CUcontext ctx, uint32_t *out, void **unused) {
    if (out) *out = 0;
    return CUDA_SUCCESS;
}

static const void *const checks_table[4] = {
    [0] = SIZE_OF(4), [1] = refuse, [2] = checks_context, [3] = succeed};

static const void *const validity_table[3] = {
    [0] = SIZE_OF(3), [1] = validity_answer, [2] = refuse};

const void *export_table_validity(void) {
    return validity_table;
}

/* ---- tools: cuBLAS and cuFFT use them -------------------------------------------------------- */

static CUresult tools_context_number(CUcontext ctx, uint64_t *out) {
    struct context *c = ctx_find(ctx);
    if (!c) return CUDA_ERROR_INVALID_CONTEXT;
    if (out) *out = c->id;
    return CUDA_SUCCESS;
}

static CUresult tools_stream_object(CUcontext ctx, CUstream stream, void **out) {
    const struct stream *s = stream_find(stream);
    if (!s) return CUDA_ERROR_INVALID_HANDLE;
    if (out) *out = s->handle;
    return CUDA_SUCCESS;
}

static CUresult tools_stream_number(CUcontext ctx, void *object, uint64_t *out) {
    const struct stream *s = stream_find(object);
    if (!s) return CUDA_ERROR_INVALID_HANDLE;
    if (out) *out = s->id;
    return CUDA_SUCCESS;
}

#define TOOLS_CONTEXT_SLOTS 95
#define TOOLS_MODULE_SLOTS 60
#define BLAS_SLOTS 40

static const void *const tools_context_table[TOOLS_CONTEXT_SLOTS] = {
    [0] = SIZE_OF(TOOLS_CONTEXT_SLOTS), [1 ... 3] = refuse,
    [4] = tools_context_number,         [5 ... 38] = refuse,
    [39] = tools_stream_number,         [40 ... 50] = refuse,
    [51] = tools_stream_object,         [52 ... TOOLS_CONTEXT_SLOTS - 1] = refuse,
};

typedef long (*tools_visitor)(void *user, CUfunction function, void *, void *);

/* Calls back for each kernel of the module. The result of 1 is what callers take for success. */
static long tools_each_function(CUcontext ctx, CUmodule module, tools_visitor visit, void *user) {
    struct image *image = image_of_module(module);
    unsigned int count = 0;
    if (!image || !visit || cuModuleGetFunctionCount(&count, module)) return 1;
    CUfunction functions[count ? count : 1];
    if (cuModuleEnumerateFunctions(functions, count, module)) return 1;
    for (unsigned int i = 0; i < count; i++)
        visit(user, functions[i], NULL, NULL);
    return 1;
}

static const void *const tools_module_table[TOOLS_MODULE_SLOTS] = {
    [0] = SIZE_OF(TOOLS_MODULE_SLOTS),
    [1 ... 6] = refuse,
    [7] = tools_each_function,
    [8 ... TOOLS_MODULE_SLOTS - 1] = refuse,
};

/* cuBLASLt crashes without this table; slot 4 may refuse. */
static const void *const blas_table[BLAS_SLOTS] = {
    [0] = SIZE_OF(BLAS_SLOTS),
    [1 ... BLAS_SLOTS - 1] = refuse,
};

/* ---- by UUID --------------------------------------------------------------------------------- */

static const struct {
    unsigned char uuid[16];
    const void *table;
} tables[] = {
    {{0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d,
      0xf9},
     cudart_table},
    {{0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74, 0x93, 0xf2, 0x08, 0x00, 0x20, 0x0c, 0x0a,
      0x66},
     hooks_table},
    {{0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47, 0x82, 0x98, 0xf6, 0xe7, 0x8a, 0x3a, 0xec,
      0xdc},
     thread_table},
    {{0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11, 0xa8, 0xc3, 0x68, 0xf3, 0x55, 0xd8, 0x95,
      0x93},
     storage_table},
    {{0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43, 0x92, 0xf6, 0xbb, 0xd5, 0x00, 0x6d, 0xfa,
      0x7e},
     checks_table},
    {{0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66, 0xe1,
      0xf2},
     validity_table},
    {{0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48, 0x8c, 0xa6, 0x41, 0xff, 0x73, 0x24, 0xc8,
      0xf2},
     tools_context_table},
    {{0x17, 0x34, 0xdc, 0x26, 0xd4, 0x78, 0x00, 0x47, 0x45, 0x8c, 0x72, 0xf1, 0xe7, 0xdd, 0x8b,
      0xca},
     blas_table},
    {{0x6e, 0x16, 0x3f, 0xbe, 0xb9, 0x58, 0x44, 0x4d, 0x83, 0x5c, 0xe1, 0x82, 0xaf, 0xf1, 0x99,
      0x1e},
     tools_module_table},
};

CUresult cuGetExportTable(const void **ppExportTable, const CUuuid *pExportTableId) {
    if (!ppExportTable || !pExportTableId) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        if (memcmp(tables[i].uuid, pExportTableId->bytes, sizeof(tables[i].uuid))) continue;
        if (tables[i].table == validity_table && !validity_built()) break;
        *ppExportTable = tables[i].table;
        return CUDA_SUCCESS;
    }
    *ppExportTable = NULL;
    return CUDA_ERROR_NOT_FOUND;
}
