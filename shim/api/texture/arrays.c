/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls about arrays, also mipmapped ones. No array is sparse, maps its memory later, or has
 * planes: a program that asks for such properties is told that the array is of another kind.
 */
#include "proto/gen/prototypes.h"
#include "shim/context/ctx.h"
#include "shim/texture/array.h"

static CUresult create(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *d) {
    struct array *a;
    CUresult r = array_create(d, 0, &a);
    if (!r) *out = (CUarray)(uintptr_t)a->handle;
    return r;
}

CUresult cuArray3DCreate_v2(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pAllocateArray) {
    CUresult r = ctx_enter();
    if (r) return r;
    return pHandle && pAllocateArray ? create(pHandle, pAllocateArray) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuArrayCreate_v2(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR *pAllocateArray) {
    CUresult r = ctx_enter();
    if (r) return r;
    if (!pHandle || !pAllocateArray) return CUDA_ERROR_INVALID_VALUE;
    CUDA_ARRAY3D_DESCRIPTOR d = {.Width = pAllocateArray->Width,
                                 .Height = pAllocateArray->Height,
                                 .Format = pAllocateArray->Format,
                                 .NumChannels = pAllocateArray->NumChannels};
    return create(pHandle, &d);
}

/* Every call about an existing array enters here. */
static CUresult enter(CUarray handle, struct array **a) {
    CUresult r = ctx_enter();
    if (r) return r;
    *a = array_find(handle);
    return *a ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult enter_mipmapped(CUmipmappedArray handle, struct array **a) {
    CUresult r = ctx_enter();
    if (r) return r;
    *a = array_find_mipmapped(handle);
    return *a ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *pArrayDescriptor, CUarray hArray) {
    struct array *a;
    CUresult r = enter(hArray, &a);
    if (r) return r;
    if (!pArrayDescriptor) return CUDA_ERROR_INVALID_VALUE;
    *pArrayDescriptor = a->asked;
    return CUDA_SUCCESS;
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *pArrayDescriptor, CUarray hArray) {
    struct array *a;
    CUresult r = enter(hArray, &a);
    if (r) return r;
    if (!pArrayDescriptor) return CUDA_ERROR_INVALID_VALUE;
    *pArrayDescriptor = (CUDA_ARRAY_DESCRIPTOR){a->asked.Width, a->asked.Height, a->asked.Format,
                                                a->asked.NumChannels};
    return CUDA_SUCCESS;
}

CUresult cuArrayDestroy(CUarray hArray) {
    struct array *a;
    CUresult r = enter(hArray, &a);
    return r ? r : array_destroy(a);
}

/* ---- mipmapped ------------------------------------------------------------------------------- */

CUresult cuMipmappedArrayCreate(CUmipmappedArray *pHandle,
                                const CUDA_ARRAY3D_DESCRIPTOR *pMipmappedArrayDesc,
                                unsigned int numMipmapLevels) {
    struct array *a;
    CUresult r = ctx_enter();
    if (r) return r;
    if (!pHandle || !pMipmappedArrayDesc) return CUDA_ERROR_INVALID_VALUE;
    r = array_create(pMipmappedArrayDesc, numMipmapLevels ? numMipmapLevels : 1, &a);
    if (!r) *pHandle = (CUmipmappedArray)(uintptr_t)a->handle;
    return r;
}

CUresult cuMipmappedArrayGetLevel(CUarray *pLevelArray, CUmipmappedArray hMipmappedArray,
                                  unsigned int level) {
    struct array *a;
    CUresult r = enter_mipmapped(hMipmappedArray, &a);
    if (r) return r;
    return pLevelArray ? array_part(a, level, pLevelArray) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray) {
    struct array *a;
    CUresult r = enter_mipmapped(hMipmappedArray, &a);
    return r ? r : array_destroy(a);
}

/* ---- kinds of arrays that do not exist here -------------------------------------------------- */

static CUresult not_of_the_kind(CUresult entered) {
    return entered ? entered : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *memoryRequirements,
                                      CUarray array, CUdevice device) {
    struct array *a;
    return not_of_the_kind(enter(array, &a));
}

CUresult cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *memoryRequirements,
                                               CUmipmappedArray mipmap, CUdevice device) {
    struct array *a;
    return not_of_the_kind(enter_mipmapped(mipmap, &a));
}

CUresult cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *sparseProperties, CUarray array) {
    struct array *a;
    return not_of_the_kind(enter(array, &a));
}

CUresult cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *sparseProperties,
                                             CUmipmappedArray mipmap) {
    struct array *a;
    return not_of_the_kind(enter_mipmapped(mipmap, &a));
}

CUresult cuArrayGetPlane(CUarray *pPlaneArray, CUarray hArray, unsigned int planeIdx) {
    struct array *a;
    return not_of_the_kind(enter(hArray, &a));
}
