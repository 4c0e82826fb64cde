/* SPDX-License-Identifier: Apache-2.0
 *
 * Private tables: the slots that the libraries of CUDA 13 were seen to call, and what these slots
 * must do. The other slots, NULL here, get functions that refuse (slots.h). Slot 0 is the table's
 * size in bytes; in the context storage it is a function.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "common/atomics.h"
#include "common/log.h"
#include "proto/gen/prototypes.h"
#include "shim/code/function.h"
#include "shim/code/image.h"
#include "shim/connection/state.h"
#include "shim/context/context_storage.h"
#include "shim/context/ctx.h"
#include "shim/context/stream.h"
#include "shim/device/caller.h"
#include "shim/private/slots.h"
#include "shim/private/validity.h"

/* ---- cudart ---------------------------------------------------------------------------------- */

/* Returns the primary context, without retaining it. */
static CUresult cudart_primary(CUcontext *out, CUdevice dev) {
    if (!out || dev != 0) return CUDA_ERROR_INVALID_VALUE;
    *out = ctx_primary()->handle;
    return CUDA_SUCCESS;
}

#define SIZE_OF(slots) ((const void *)(uintptr_t)((slots) * sizeof(void *)))

static CUresult succeed(void) {
    return CUDA_SUCCESS;
}

/* Loads a program's code for the 11.8 runtime, from the wrapper that nvcc makes. The other two
 * arguments were always NULL; their meaning is unknown. */
static CUresult cudart_load(CUmodule *out, const void *wrapper, void *more, void *yet_more) {
    if (!out || !wrapper) return CUDA_ERROR_INVALID_VALUE;
    return more || yet_more ? CUDA_ERROR_NOT_SUPPORTED : cuModuleLoadData(out, wrapper);
}

/* Slot 7: called by the 11.8 runtime at its end for a wrapper that it no longer needs; nothing is
 * stored for it. Slot 12: runtimes since 13.1 call it first and require success. Its purpose is
 * unknown, and only its result is used. */
static const void *cudart_table[13] = {
    [0] = SIZE_OF(13), [2] = cudart_primary, [6] = cudart_load, [7] = succeed, [12] = succeed};

/* ---- hooks of profilers: buffers that stay empty --------------------------------------------- */

static char hooks_functions[4096], hooks_devices[64];

static void hooks_first(void **buffer, size_t *count) {
    *buffer = hooks_functions;
    *count = 1024;
}

static void hooks_second(void **buffer, size_t *count) {
    *buffer = hooks_devices;
    *count = 14;
}

static const void *hooks_table[7] = {[0] = SIZE_OF(7), [2] = hooks_first, [6] = hooks_second};

/* ---- threads, context storage, checks -------------------------------------------------------- */

static CUresult thread_current(CUcontext *out) {
    struct context *c = ctx_current();
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    *out = c ? c->handle : NULL;
    return CUDA_SUCCESS;
}

static const void *thread_table[4] = {
    [0] = SIZE_OF(4), [1] = succeed, [2] = thread_current, [3] = succeed};

static const void *storage_table[4] = {
    [0] = context_storage_put, [1] = context_storage_delete, [2] = context_storage_get};

static CUresult checks_context(CUcontext ctx, uint32_t *out, void **unused) {
    if (out) *out = 0;
    return CUDA_SUCCESS;
}

static const void *checks_table[4] = {[0] = SIZE_OF(4), [2] = checks_context, [3] = succeed};

static CUresult checks_validity(uint32_t version, uint64_t time, uint64_t out[2]);
static const void *validity_table[3] = {[0] = SIZE_OF(3), [1] = checks_validity};

static CUresult checks_validity(uint32_t version, uint64_t time, uint64_t out[2]) {
    const struct validity_addresses at = {cudart_table, validity_table, checks_validity};
    return validity_answer(&at, version, time, out);
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

static const void *tools_context_table[TOOLS_CONTEXT_SLOTS] = {
    [0] = SIZE_OF(TOOLS_CONTEXT_SLOTS),
    [4] = tools_context_number,
    [39] = tools_stream_number,
    [51] = tools_stream_object,
};

typedef long (*tools_visitor)(void *user, CUfunction function, void *, void *);

/* Calls `visit` for each kernel of the module. Callers take the result 1 as success. */
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

static const void *tools_module_table[TOOLS_MODULE_SLOTS] = {
    [0] = SIZE_OF(TOOLS_MODULE_SLOTS), [7] = tools_each_function};

static CUresult blas_refuse(void) {
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* cuBLASLt crashes without its table, which has another UUID since 13.4, and works without slot 4.
 */
static const void *blas_table[BLAS_SLOTS] = {[0] = SIZE_OF(BLAS_SLOTS), [4] = blas_refuse};
static const void *blas_newer_table[BLAS_SLOTS] = {[0] = SIZE_OF(BLAS_SLOTS), [4] = blas_refuse};

/* ---- CUPTI ----------------------------------------------------------------------------------- */

/* CUPTI 13 and later does not load without its table, not even to return its version, which
 * frameworks query at start-up. Before it begins to trace, it asks slot 32 for permission: NVIDIA's
 * library cannot trace here. Programs linked with CUPTI call the functions that replace it
 * (shim/cupti/library.h). */
#define CUPTI_SLOTS 60
/* Newer versions of CUPTI look for this table instead. */
static const unsigned char cupti_trace_uuid[16] = {0x2c, 0x8e, 0x0a, 0xd8, 0x07, 0x10, 0xab, 0x4e,
                                                   0x90, 0xdd, 0x54, 0x71, 0x9f, 0xe5, 0xf7, 0x4b};

/* Logs why a profiler records nothing, which would otherwise be silent. */
static void say_untraced(void) {
    static _Atomic uint32_t said;
    state_log();
    log_write("shim", atom_exchange(&said, 1) ? LOG_WARN : LOG_ERROR,
              "what=\"the profiler records no activities, because it bypasses Salus's CUPTI "
              "library\" do=\"see Profilers in docs/frameworks.md\"");
}

static CUresult cupti_refuse(void) {
    say_untraced();
    return CUDA_ERROR_NOT_SUPPORTED;
}

static const void *cupti_table[CUPTI_SLOTS] = {[0] = SIZE_OF(CUPTI_SLOTS), [32] = cupti_refuse};

/* ---- by UUID --------------------------------------------------------------------------------- */

#define TABLE(t) t, sizeof(t) / sizeof(t[0])

static const struct {
    unsigned char uuid[16];
    const void **table;
    unsigned int slots;
} tables[] = {
    {{0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d,
      0xf9},
     TABLE(cudart_table)},
    {{0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74, 0x93, 0xf2, 0x08, 0x00, 0x20, 0x0c, 0x0a,
      0x66},
     TABLE(hooks_table)},
    {{0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47, 0x82, 0x98, 0xf6, 0xe7, 0x8a, 0x3a, 0xec,
      0xdc},
     TABLE(thread_table)},
    {{0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11, 0xa8, 0xc3, 0x68, 0xf3, 0x55, 0xd8, 0x95,
      0x93},
     TABLE(storage_table)},
    {{0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43, 0x92, 0xf6, 0xbb, 0xd5, 0x00, 0x6d, 0xfa,
      0x7e},
     TABLE(checks_table)},
    {{0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66, 0xe1,
      0xf2},
     TABLE(validity_table)},
    {{0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48, 0x8c, 0xa6, 0x41, 0xff, 0x73, 0x24, 0xc8,
      0xf2},
     TABLE(tools_context_table)},
    {{0x17, 0x34, 0xdc, 0x26, 0xd4, 0x78, 0x00, 0x47, 0x45, 0x8c, 0x72, 0xf1, 0xe7, 0xdd, 0x8b,
      0xca},
     TABLE(blas_table)},
    {{0x17, 0x34, 0xdc, 0x26, 0x80, 0x0d, 0x47, 0x45, 0x87, 0x26, 0xc0, 0xf1, 0xe7, 0xdd, 0x8b,
      0xca},
     TABLE(blas_newer_table)},
    {{0x6e, 0x16, 0x3f, 0xbe, 0xb9, 0x58, 0x44, 0x4d, 0x83, 0x5c, 0xe1, 0x82, 0xaf, 0xf1, 0x99,
      0x1e},
     TABLE(tools_module_table)},
    {{0x7c, 0xb6, 0x3f, 0x9b, 0x9c, 0xa4, 0x8e, 0x42, 0xa4, 0x84, 0xbe, 0xb6, 0x6e, 0x6a, 0xed,
      0x7f},
     TABLE(cupti_table)},
};

#define TABLES (sizeof(tables) / sizeof(tables[0]))
_Static_assert(TOOLS_CONTEXT_SLOTS + TOOLS_MODULE_SLOTS + 2 * BLAS_SLOTS + CUPTI_SLOTS + 35 <=
                   SLOTS_MAX,
               "every slot has its function");

static void fill_tables(void) {
    for (size_t i = 0; i < TABLES; i++)
        slots_fill(tables[i].uuid, tables[i].table, tables[i].slots);
}

/* Logs only at debug level: libraries look for tables of tools that do not exist here. */
static CUresult not_found(const CUuuid *id) {
    char text[2 * sizeof(id->bytes) + 1];
    for (size_t i = 0; i < sizeof(id->bytes); i++)
        snprintf(text + 2 * i, 3, "%02x", (unsigned char)id->bytes[i]);
    state_log();
    log_debug("shim", "what=\"the driver has no such private table\" table=%s", text);
    if (memcmp(id->bytes, cupti_trace_uuid, sizeof(cupti_trace_uuid)) == 0) say_untraced();
    return CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetExportTable(const void **ppExportTable, const CUuuid *pExportTableId) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!ppExportTable || !pExportTableId) return CUDA_ERROR_INVALID_VALUE;
    pthread_once(&once, fill_tables);
    for (size_t i = 0; i < TABLES; i++) {
        if (memcmp(tables[i].uuid, pExportTableId->bytes, sizeof(tables[i].uuid)) != 0) continue;
        if (tables[i].table == validity_table && !validity_built()) break;
        *ppExportTable = tables[i].table;
        if (tables[i].table == cudart_table) caller_note_runtime(__builtin_return_address(0));
        return CUDA_SUCCESS;
    }
    *ppExportTable = NULL;
    return not_found(pExportTableId);
}
