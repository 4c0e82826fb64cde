/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of kernels, and the calls about one.
 */
#include "shim/code/function.h"

#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "proto/gen/prototypes.h"
#include "proto/record.h"
#include "shim/api/ctx.h"
#include "shim/code/image.h"
#include "shim/connection/refuse.h"
#include "shim/connection/reply.h"
#include "shim/handle.h"
#include "shim/memory/mem.h"

#define FUNCTION_PARAMS_MAX RECORD_PARAMS_MAX
_Static_assert(WIRE_FUNCS <= 1u << HANDLE_INDEX_BITS, "ids fit into handles");
_Static_assert((WIRE_FUNCS & (WIRE_FUNCS - 1)) == 0, "function_find masks");

struct function function_table[WIRE_FUNCS];
static uint32_t next_id;   /* where the search for a free id goes on */
static uint64_t params_at; /* host window: where the worker puts parameter layouts */

static struct function *take_id(void) {
    for (uint32_t i = 0; i < WIRE_FUNCS; i++) {
        struct function *f = &function_table[(next_id + i) % WIRE_FUNCS];
        if (f->name) continue;
        next_id = (next_id + i + 1) % WIRE_FUNCS;
        f->id = (uint32_t)(f - function_table);
        return f;
    }
    return NULL;
}

void function_free(struct function *f) {
    atom_store_release(&f->ready, 0);
    f->handle = NULL;
    f->sent = false;
    free(f->name);
    free(f->params);
    f->name = NULL;
    f->params = NULL;
}

static CUresult keep_params(struct function *f) {
    size_t bytes = f->info.param_count * sizeof(*f->params);
    if (f->info.param_count > FUNCTION_PARAMS_MAX || f->info.param_bytes > WIRE_PARAM_MAX) {
        static const char why[] = "more parameters than are supported";
        refuse_kernel(f->name, ERR_UNSUPPORTED_PTX, why, sizeof(why));
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    free(f->params);
    f->params = malloc(bytes ? bytes : 1);
    if (!f->params) return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(f->params, (const void *)(uintptr_t)params_at, bytes);
    for (uint32_t i = 0; i < f->info.param_count; i++) {
        const struct wire_param *p = &f->params[i];
        if (p->offset > f->info.param_bytes || p->bytes > f->info.param_bytes - p->offset)
            return CUDA_ERROR_UNKNOWN;
    }
    return CUDA_SUCCESS;
}

static uint32_t default_dynamic(const struct function *f) {
    uint32_t per_block = state.conn.device.shared_per_block_bytes;
    return f->info.shared_bytes < per_block ? per_block - f->info.shared_bytes : 0;
}

/* With image_lock held: asks the worker about the kernel. */
static CUresult ask(struct function *f, bool first) {
    CUresult r = image_load(f->image, NULL);
    if (!r && f->sent) return CUDA_ERROR_NOT_SUPPORTED; /* its layout was refused before */
    if (!r && !params_at)
        r = mem_take(MEM_OWN, 0, 0, FUNCTION_PARAMS_MAX * sizeof(struct wire_param), &params_at);
    if (r) return r;
    struct wire_func_get rec = {
        .rec = {.op = WIRE_FUNC_GET},
        .module = f->image->index,
        .func = f->id,
        .params = params_at,
        .params_cap = FUNCTION_PARAMS_MAX,
        .name_bytes = (uint32_t)strlen(f->name) + 1,
    };
    struct reply reply = {0};
    r = reply_call(&rec, sizeof(rec), f->name, rec.name_bytes, &reply);
    if (r && refuse_is_code(reply.result))
        refuse_kernel(f->name, reply.result, (const char *)reply.data, reply.bytes);
    if (r) return r;
    f->sent = true;
    if (reply.bytes != sizeof(f->info)) return CUDA_ERROR_UNKNOWN;
    memcpy(&f->info, reply.data, sizeof(f->info));
    r = keep_params(f);
    if (r) return r;
    if (first) {
        f->max_dynamic = default_dynamic(f);
        f->carveout = CU_SHAREDMEM_CARVEOUT_DEFAULT;
        f->cluster_policy = f->non_portable_cluster = 0;
    }
    atom_store_release(&f->ready, 1);
    return CUDA_SUCCESS;
}

CUresult function_ready_slow(struct function *f) {
    pthread_mutex_lock(&image_lock);
    CUresult r = atom_load_acquire(&f->ready) ? CUDA_SUCCESS : ask(f, false);
    pthread_mutex_unlock(&image_lock);
    return r;
}

CUresult function_get(struct image *image, const char *name, struct function **out) {
    for (struct function *f = image->functions; f; f = f->next) {
        if (strcmp(f->name, name)) continue;
        *out = f;
        return atom_load_acquire(&f->ready) ? CUDA_SUCCESS : ask(f, false);
    }
    if (!*name || strlen(name) >= FUNCTION_NAME_MAX) return CUDA_ERROR_NOT_FOUND;
    struct function *f = take_id();
    if (!f) return CUDA_ERROR_OUT_OF_MEMORY;
    f->image = image;
    f->name = strdup(name);
    CUresult r = f->name ? ask(f, true) : CUDA_ERROR_OUT_OF_MEMORY;
    if (r) {
        if (!f->sent) function_free(f); /* else the id stays taken: the worker has it */
        return r;
    }
    f->handle = (CUfunction)(uintptr_t)handle_make(HANDLE_FUNCTION, ++f->generation, f->id);
    f->next = image->functions;
    image->functions = f;
    *out = f;
    return CUDA_SUCCESS;
}

CUresult function_get_all(struct image *image, void **handles, uint32_t count) {
    uint64_t at;
    CUresult r = image_load(image, NULL);
    if (!r) r = mem_take(MEM_OWN, 0, 0, FUNCTION_NAME_MAX, &at);
    if (r) return r;
    for (uint32_t i = 0; !r && i < count && i < image->function_count; i++) {
        struct wire_func_name rec = {.rec = {.op = WIRE_FUNC_NAME},
                                     .module = image->index,
                                     .index = i,
                                     .buf = at,
                                     .cap = FUNCTION_NAME_MAX};
        struct function *f = NULL;
        char *name = (char *)(uintptr_t)at;
        r = reply_call(&rec, sizeof(rec), NULL, 0, NULL);
        name[FUNCTION_NAME_MAX - 1] = '\0';
        if (!r) r = function_get(image, name, &f);
        if (!r) handles[i] = f->handle;
    }
    mem_give(at);
    return r;
}

/* ---- the calls ------------------------------------------------------------------------------- */

/* A kernel that is known and whose numbers are there. */
static CUresult enter(const void *handle, struct function **f) {
    CUresult r = state_live();
    if (r) return r;
    *f = function_find(handle);
    return *f ? function_ready(*f) : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult get_attribute(int *pi, CUfunction_attribute attrib, const struct function *f) {
    const struct wire_func_reply *i = &f->info;
    if (!pi) return CUDA_ERROR_INVALID_VALUE;
    switch (attrib) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *pi = (int)i->max_threads; break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *pi = (int)i->shared_bytes; break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *pi = (int)i->const_bytes; break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *pi = (int)i->local_bytes; break;
    /* Libraries divide by it. */
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *pi = i->regs ? (int)i->regs : 1; break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: *pi = (int)i->ptx_version; break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *pi = (int)i->binary_version; break;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: *pi = 0; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *pi = (int)f->max_dynamic; break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *pi = f->carveout; break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: *pi = 0; break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: *pi = f->non_portable_cluster; break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: *pi = f->cluster_policy; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

static CUresult set_attribute(struct function *f, CUfunction_attribute attrib, int value) {
    uint32_t optin = state.conn.device.shared_optin_bytes;
    switch (attrib) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        if (value < 0 || (uint64_t)value + f->info.shared_bytes > optin)
            return CUDA_ERROR_INVALID_VALUE;
        f->max_dynamic = (uint32_t)value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        if (value < -1 || value > 100) return CUDA_ERROR_INVALID_VALUE;
        f->carveout = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        return value <= 1 ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        f->non_portable_cluster = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        f->cluster_policy = value;
        return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc) {
    struct function *f;
    CUresult r = enter(hfunc, &f);
    return r ? r : get_attribute(pi, attrib, f);
}

CUresult cuKernelGetAttribute(int *pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev) {
    return dev == 0 ? cuFuncGetAttribute(pi, attrib, (CUfunction)kernel)
                    : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value) {
    struct function *f;
    CUresult r = enter(hfunc, &f);
    return r ? r : set_attribute(f, attrib, value);
}

CUresult cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev) {
    return dev == 0 ? cuFuncSetAttribute((CUfunction)kernel, attrib, val)
                    : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config) {
    struct function *f;
    CUresult r = enter(hfunc, &f);
    if (r) return r;
    return (unsigned)config <= CU_FUNC_CACHE_PREFER_EQUAL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev) {
    return dev == 0 ? cuFuncSetCacheConfig((CUfunction)kernel, config) : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuFuncSetSharedMemConfig(CUfunction hfunc, CUsharedconfig config) {
    struct function *f;
    CUresult r = enter(hfunc, &f);
    if (r) return r;
    return (unsigned)config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_SUCCESS
                                                                         : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t *paramOffset,
                            size_t *paramSize) {
    struct function *f;
    CUresult r = enter(func, &f);
    if (r) return r;
    if (!paramOffset || paramIndex >= f->info.param_count) return CUDA_ERROR_INVALID_VALUE;
    *paramOffset = f->params[paramIndex].offset;
    if (paramSize) *paramSize = f->params[paramIndex].bytes;
    return CUDA_SUCCESS;
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t *paramOffset,
                              size_t *paramSize) {
    return cuFuncGetParamInfo((CUfunction)kernel, paramIndex, paramOffset, paramSize);
}

CUresult cuFuncGetName(const char **name, CUfunction hfunc) {
    CUresult r = state_ready();
    if (r) return r;
    const struct function *f = function_find(hfunc);
    if (!f) return CUDA_ERROR_INVALID_HANDLE;
    if (!name) return CUDA_ERROR_INVALID_VALUE;
    *name = f->name;
    return CUDA_SUCCESS;
}

CUresult cuKernelGetName(const char **name, CUkernel hfunc) {
    return cuFuncGetName(name, (CUfunction)hfunc);
}

CUresult cuFuncGetModule(CUmodule *hmod, CUfunction hfunc) {
    CUresult r = state_ready();
    if (r) return r;
    const struct function *f = function_find(hfunc);
    if (!f) return CUDA_ERROR_INVALID_HANDLE;
    if (!hmod) return CUDA_ERROR_INVALID_VALUE;
    *hmod = image_module(f->image);
    return CUDA_SUCCESS;
}

CUresult cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel) {
    struct function *f;
    CUresult r = enter(kernel, &f);
    if (r) return r;
    if (!pFunc) return CUDA_ERROR_INVALID_VALUE;
    *pFunc = f->handle;
    return CUDA_SUCCESS;
}

CUresult cuKernelGetLibrary(CUlibrary *pLib, CUkernel kernel) {
    CUresult r = state_ready();
    if (r) return r;
    const struct function *f = function_find(kernel);
    if (!f || !f->image->library) return CUDA_ERROR_INVALID_HANDLE;
    if (!pLib) return CUDA_ERROR_INVALID_VALUE;
    *pLib = image_library(f->image);
    return CUDA_SUCCESS;
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState *state_out, CUfunction function) {
    CUresult r = state_ready();
    if (r) return r;
    struct function *f = function_find(function);
    if (!f) return CUDA_ERROR_INVALID_HANDLE;
    if (!state_out) return CUDA_ERROR_INVALID_VALUE;
    *state_out = atom_load_acquire(&f->ready) ? CU_FUNCTION_LOADING_STATE_LOADED
                                              : CU_FUNCTION_LOADING_STATE_UNLOADED;
    return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction function) {
    struct function *f;
    return enter(function, &f);
}
