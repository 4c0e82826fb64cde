/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches in the form before CUDA 4.0: block, shared memory and parameters are set on the kernel
 * by one call each, and stay set for later launches.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/gen/prototypes.h"
#include "shim/api/texture/texture_ref.h"
#include "shim/code/function.h"
#include "shim/code/image.h"
#include "shim/context/ctx.h"

#define ANY_TEXTURE_UNIT (-1) /* CU_PARAM_TR_DEFAULT, the only texture unit */

/* Returns the settings of the kernel, which it creates if needed. The caller has entered
 * (image_enter). */
static CUresult find(CUfunction handle, struct function_set **out) {
    struct function *f = function_find(handle);
    if (!f) return CUDA_ERROR_INVALID_HANDLE;
    if (!f->set) f->set = calloc(1, sizeof(*f->set));
    *out = f->set;
    return f->set ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult enter(CUfunction handle, struct function_set **out) {
    CUresult r = ctx_enter();
    if (r) return r;
    image_enter();
    r = find(handle, out);
    if (r) image_leave();
    return r;
}

CUresult cuFuncSetBlockShape(CUfunction hfunc, int x, int y, int z) {
    struct function_set *s;
    if (x <= 0 || y <= 0 || z <= 0) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = enter(hfunc, &s);
    if (r) return r;
    const unsigned int block[3] = {(unsigned int)x, (unsigned int)y, (unsigned int)z};
    memcpy(s->block, block, sizeof(block));
    image_leave();
    return CUDA_SUCCESS;
}

CUresult cuFuncSetSharedSize(CUfunction hfunc, unsigned int bytes) {
    struct function_set *s;
    CUresult r = enter(hfunc, &s);
    if (r) return r;
    s->shared_bytes = bytes;
    image_leave();
    return CUDA_SUCCESS;
}

CUresult cuParamSetSize(CUfunction hfunc, unsigned int numbytes) {
    struct function_set *s;
    if (numbytes > FUNCTION_SET_MAX) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = enter(hfunc, &s);
    if (r) return r;
    s->param_bytes = numbytes;
    image_leave();
    return CUDA_SUCCESS;
}

CUresult cuParamSetv(CUfunction hfunc, int offset, void *ptr, unsigned int numbytes) {
    struct function_set *s;
    if (offset < 0 || (unsigned int)offset > FUNCTION_SET_MAX ||
        numbytes > FUNCTION_SET_MAX - (unsigned int)offset || (!ptr && numbytes))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult r = enter(hfunc, &s);
    if (r) return r;
    if (numbytes) memcpy(s->params + offset, ptr, numbytes);
    image_leave();
    return CUDA_SUCCESS;
}

CUresult cuParamSeti(CUfunction hfunc, int offset, unsigned int value) {
    return cuParamSetv(hfunc, offset, &value, sizeof(value));
}

CUresult cuParamSetf(CUfunction hfunc, int offset, float value) {
    return cuParamSetv(hfunc, offset, &value, sizeof(value));
}

/* Accepts a valid reference and does nothing: the kernel reads references as variables of its
 * module. */
CUresult cuParamSetTexRef(CUfunction hfunc, int texunit, CUtexref hTexRef) {
    CUresult r = ctx_enter();
    if (r) return r;
    if (!function_find(hfunc)) return CUDA_ERROR_INVALID_HANDLE;
    return texunit == ANY_TEXTURE_UNIT && texture_ref_find((uint64_t)(uintptr_t)hTexRef, false)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuLaunchGridAsync(CUfunction f, int grid_width, int grid_height, CUstream hStream) {
    struct function_set *s, set;
    if (grid_width <= 0 || grid_height <= 0) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = enter(f, &s);
    if (r) return r;
    set = *s;
    image_leave();
    size_t bytes = set.param_bytes;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, set.params, CU_LAUNCH_PARAM_BUFFER_SIZE,
                     &bytes, CU_LAUNCH_PARAM_END};
    return cuLaunchKernel(f, (unsigned int)grid_width, (unsigned int)grid_height, 1, set.block[0],
                          set.block[1], set.block[2], set.shared_bytes, hStream, NULL, extra);
}

CUresult cuLaunchGrid(CUfunction f, int grid_width, int grid_height) {
    return cuLaunchGridAsync(f, grid_width, grid_height, NULL);
}

CUresult cuLaunch(CUfunction f) {
    return cuLaunchGrid(f, 1, 1);
}
