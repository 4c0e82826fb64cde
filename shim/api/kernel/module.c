/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that load code and find things in it: modules, libraries, files, JIT options.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/log.h"
#include "proto/gen/prototypes.h"
#include "shim/code/code_file.h"
#include "shim/code/fatbin.h"
#include "shim/code/function.h"
#include "shim/code/image.h"
#include "shim/code/jit.h"
#include "shim/code/resolve.h"
#include "shim/context/ctx.h"
#include "shim/device/caller.h"

/* ---- loading --------------------------------------------------------------------------------- */

/* Reads the driver's own variable. Loading is lazy by default since CUDA 11.7. */
static bool eager(void) {
    const char *mode = getenv("CUDA_MODULE_LOADING");
    return mode && !strcasecmp(mode, "EAGER");
}

static CUresult create(struct image_source *from, const struct jit *jit, struct image **out) {
    struct image_log info = jit_open_log(jit, CU_JIT_INFO_LOG_BUFFER);
    struct image_log errors = jit_open_log(jit, CU_JIT_ERROR_LOG_BUFFER);
    from->now = !from->preserved || eager();
    CUresult r = image_create(from, &errors, out);
    jit_close_log(jit, CU_JIT_INFO_LOG_BUFFER, &info);
    jit_close_log(jit, CU_JIT_ERROR_LOG_BUFFER, &errors);
    return r;
}

/* Loads code from a file. Fatbin wrappers are not accepted, because they hold pointers, and headers
 * must not reach beyond the file. */
static CUresult create_from_file(const char *name, struct image_source *from, const struct jit *jit,
                                 struct image **out) {
    size_t bytes;
    CUresult r;
    void *data = code_file_read(name, &bytes, &r);
    if (!data) return r;
    from->code = data;
    r = fatbin_measure_within(data, bytes) ? create(from, jit, out) : CUDA_ERROR_INVALID_IMAGE;
    free(data);
    return r;
}

static CUresult load(CUmodule *module, const void *code, const struct jit *jit,
                     const void *caller) {
    CUresult r = ctx_enter();
    if (r) return r;
    if (!module || !code) return CUDA_ERROR_INVALID_VALUE;
    struct image_source from = {.code = code, .capability = caller_image_capability(caller)};
    struct image *made;
    r = create(&from, jit, &made);
    if (!r) *module = image_module(made);
    return r;
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions,
                            CUjit_option *options, void **optionValues) {
    struct jit jit = {numOptions, options, optionValues};
    return load(module, image, &jit, __builtin_return_address(0));
}

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    return load(module, image, &(struct jit){0}, __builtin_return_address(0));
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *fatCubin) {
    return load(module, fatCubin, &(struct jit){0}, __builtin_return_address(0));
}

CUresult cuModuleLoad(CUmodule *module, const char *fname) {
    CUresult r = ctx_enter();
    if (r) return r;
    if (!module) return CUDA_ERROR_INVALID_VALUE;
    struct image_source from = {.capability = caller_image_capability(__builtin_return_address(0))};
    struct image *made;
    r = create_from_file(fname, &from, &(struct jit){0}, &made);
    if (!r) *module = image_module(made);
    return r;
}

CUresult cuModuleUnload(CUmodule hmod) {
    CUresult r = ctx_enter();
    if (r) return r;
    struct image *image = image_of_module(hmod);
    if (!image || image->library) return CUDA_ERROR_INVALID_HANDLE;
    image_destroy(image);
    return CUDA_SUCCESS;
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode) {
    CUresult r = state_ready();
    if (r) return r;
    if (!mode) return CUDA_ERROR_INVALID_VALUE;
    *mode = eager() ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}

static bool preserved(const CUlibraryOption *options, void **values, unsigned int count) {
    for (unsigned int i = 0; options && i < count; i++) {
        if (options[i] == CU_LIBRARY_BINARY_IS_PRESERVED)
            return !values || (uintptr_t)values[i] != 0;
    }
    return false;
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions,
                           void **jitOptionsValues, unsigned int numJitOptions,
                           CUlibraryOption *libraryOptions, void **libraryOptionValues,
                           unsigned int numLibraryOptions) {
    CUresult r = state_live();
    if (r) return r;
    if (!library || !code) return CUDA_ERROR_INVALID_VALUE;
    struct jit jit = {numJitOptions, jitOptions, jitOptionsValues};
    struct image_source from = {
        .code = code,
        .capability = caller_image_capability(__builtin_return_address(0)),
        .library = true,
        .preserved = preserved(libraryOptions, libraryOptionValues, numLibraryOptions),
    };
    struct image *made;
    r = create(&from, &jit, &made);
    if (!r) *library = image_library(made);
    return r;
}

CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *fileName, CUjit_option *jitOptions,
                               void **jitOptionsValues, unsigned int numJitOptions,
                               CUlibraryOption *libraryOptions, void **libraryOptionValues,
                               unsigned int numLibraryOptions) {
    CUresult r = state_live();
    if (r) return r;
    if (!library) return CUDA_ERROR_INVALID_VALUE;
    struct jit jit = {numJitOptions, jitOptions, jitOptionsValues};
    struct image_source from = {
        .capability = caller_image_capability(__builtin_return_address(0)),
        .library = true,
    };
    struct image *made;
    r = create_from_file(fileName, &from, &jit, &made);
    if (!r) *library = image_library(made);
    return r;
}

CUresult cuLibraryUnload(CUlibrary library) {
    CUresult r = state_ready();
    if (r) return r;
    struct image *image = image_of_library(library);
    if (!image) return CUDA_ERROR_INVALID_HANDLE;
    image_destroy(image);
    return CUDA_SUCCESS;
}

CUresult cuLibraryGetModule(CUmodule *pMod, CUlibrary library) {
    CUresult r = ctx_enter();
    if (r) return r;
    struct image *image = image_of_library(library);
    if (!image) return CUDA_ERROR_INVALID_HANDLE;
    if (!pMod) return CUDA_ERROR_INVALID_VALUE;
    image_enter();
    r = image_load(image, NULL);
    image_leave();
    if (!r) *pMod = image_module(image);
    return r;
}

/* ---- finding --------------------------------------------------------------------------------- */

static CUresult get_function(struct image *image, const char *name, CUfunction *out) {
    if (!image) return CUDA_ERROR_INVALID_HANDLE;
    if (!out || !name) return CUDA_ERROR_INVALID_VALUE;
    struct function *f = image_function(image, name);
    CUresult r = CUDA_SUCCESS;
    if (!f || !atom_load_acquire(&f->ready)) {
        image_enter();
        r = resolve_get(image, name, &f);
        image_leave();
    }
    if (!r) *out = f->handle;
    return r;
}

CUresult cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name) {
    CUresult r = ctx_enter();
    return r ? r : get_function(image_of_module(hmod), name, hfunc);
}

CUresult cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library, const char *name) {
    CUresult r = state_live();
    return r ? r : get_function(image_of_library(library), name, (CUfunction *)pKernel);
}

static CUresult count_functions(struct image *image, unsigned int *count) {
    if (!image) return CUDA_ERROR_INVALID_HANDLE;
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    image_enter();
    CUresult r = image_load(image, NULL);
    *count = image->function_count;
    image_leave();
    return r;
}

CUresult cuModuleGetFunctionCount(unsigned int *count, CUmodule mod) {
    CUresult r = ctx_enter_device();
    return r ? r : count_functions(image_of_module(mod), count);
}

CUresult cuLibraryGetKernelCount(unsigned int *count, CUlibrary lib) {
    CUresult r = state_live();
    return r ? r : count_functions(image_of_library(lib), count);
}

static CUresult list_functions(struct image *image, void **handles, unsigned int count) {
    if (!image) return CUDA_ERROR_INVALID_HANDLE;
    if (!handles) return CUDA_ERROR_INVALID_VALUE;
    image_enter();
    CUresult r = resolve_all(image, handles, count);
    image_leave();
    return r;
}

CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned int numFunctions,
                                    CUmodule mod) {
    CUresult r = ctx_enter();
    return r ? r : list_functions(image_of_module(mod), (void **)functions, numFunctions);
}

CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int numKernels, CUlibrary lib) {
    CUresult r = state_live();
    return r ? r : list_functions(image_of_library(lib), (void **)kernels, numKernels);
}

static CUresult get_global(struct image *image, CUdeviceptr *dptr, size_t *bytes,
                           const char *name) {
    uint64_t addr, size;
    if (!image) return CUDA_ERROR_INVALID_HANDLE;
    if (!name) return CUDA_ERROR_INVALID_VALUE;
    image_enter();
    CUresult r = image_global(image, name, &addr, &size);
    image_leave();
    if (r) return r;
    if (dptr) *dptr = addr;
    if (bytes) *bytes = size;
    return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *dptr, size_t *bytes, CUmodule hmod, const char *name) {
    CUresult r = ctx_enter();
    return r ? r : get_global(image_of_module(hmod), dptr, bytes, name);
}

CUresult cuLibraryGetGlobal(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name) {
    CUresult r = ctx_enter();
    return r ? r : get_global(image_of_library(library), dptr, bytes, name);
}

/* The runtime asks for every __managed__ variable before a context exists. The worker puts them
 * where the program itself can access them; a backend that cannot do so returns another address. */
CUresult cuLibraryGetManaged(CUdeviceptr *dptr, size_t *bytes, CUlibrary library,
                             const char *name) {
    CUdeviceptr addr;
    CUresult r = state_live();
    if (!r) r = get_global(image_of_library(library), &addr, bytes, name);
    if (r) return r;
    if (!conn_in_host(&state.conn, addr)) {
        log_warn("shim", "what=\"managed variables are not supported\" variable=%s", name);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (dptr) *dptr = addr;
    return CUDA_SUCCESS;
}
