/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls about one kernel.
 */
#include "proto/gen/prototypes.h"
#include "shim/api/kernel/cluster.h"
#include "shim/code/function.h"
#include "shim/code/image.h"
#include "shim/code/resolve.h"
#include "shim/connection/refuse.h"
#include "shim/connection/state.h"

/* Finds a kernel and resolves its attributes. */
static CUresult enter(const void *handle, struct function **f) {
    CUresult r = state_live();
    if (r) return r;
    *f = function_find(handle);
    return *f ? resolve_ready(*f) : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult get_attribute(int *pi, CUfunction_attribute attrib, const struct function *f) {
    const struct wire_func_reply *i = &f->info;
    if (!pi) return CUDA_ERROR_INVALID_VALUE;
    switch (attrib) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *pi = (int)i->max_threads; break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *pi = (int)i->shared_bytes; break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *pi = (int)i->const_bytes; break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *pi = (int)i->local_bytes; break;
    /* Libraries divide by the number of registers, so it is never 0. */
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *pi = i->regs ? (int)i->regs : 1; break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: *pi = (int)i->ptx_version; break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *pi = (int)i->binary_version; break;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: *pi = 0; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *pi = (int)f->max_dynamic; break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *pi = f->carveout; break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET: *pi = i->cluster_must; break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: *pi = cluster_required(f, attrib); break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: *pi = f->non_portable_cluster; break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: *pi = f->cluster_policy; break;
    case CU_FUNC_ATTRIBUTE_DEVICE_NODE_UPDATE_SUPPORTED:
        *pi = !(f->info.launches & WIRE_LAUNCHES_GRAPHS);
        break;
    case CU_FUNC_ATTRIBUTE_SHARED_MEMORY_MODE: *pi = CU_SHARED_MEMORY_MODE_DEFAULT; break;
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
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: return cluster_require(f, attrib, value);
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        if (value != 0 && value != 1) return CUDA_ERROR_INVALID_VALUE;
        f->non_portable_cluster = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        if ((unsigned)value > CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING)
            return CUDA_ERROR_INVALID_VALUE;
        f->cluster_policy = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_MEMORY_MODE:
        return value == CU_SHARED_MEMORY_MODE_DEFAULT
                   ? CUDA_SUCCESS
                   : refuse_call("a kernel's shared memory mode");
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

CUresult cuFuncGetParamCount(CUfunction func, size_t *paramCount) {
    struct function *f;
    CUresult r = enter(func, &f);
    if (r) return r;
    if (!paramCount) return CUDA_ERROR_INVALID_VALUE;
    *paramCount = f->info.param_count;
    return CUDA_SUCCESS;
}

CUresult cuKernelGetParamCount(CUkernel kernel, size_t *paramCount) {
    return cuFuncGetParamCount((CUfunction)kernel, paramCount);
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
