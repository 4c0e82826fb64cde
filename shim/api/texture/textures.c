/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls about texture and surface objects: a resource (array, linear or pitched memory) and a way
 * to read it become one record for the worker.
 */
#include <string.h>

#include "proto/gen/prototypes.h"
#include "shim/api/texture/texture_desc.h"
#include "shim/context/ctx.h"
#include "shim/texture/texture.h"

CUresult cuTexObjectCreate(CUtexObject *pTexObject, const CUDA_RESOURCE_DESC *pResDesc,
                           const CUDA_TEXTURE_DESC *pTexDesc,
                           const CUDA_RESOURCE_VIEW_DESC *pResViewDesc) {
    CUresult r = ctx_enter();
    if (r) return r;
    if (!pTexObject || !pResDesc || !pTexDesc) return CUDA_ERROR_INVALID_VALUE;
    struct wire_texture w;
    struct texture t = {
        .resource = *pResDesc, .reading = *pTexDesc, .viewed = pResViewDesc != NULL};
    if (pResViewDesc) t.view = *pResViewDesc;
    r = texture_desc(&t, &w);
    uint64_t handle;
    if (!r) r = texture_create(&w, &t, &handle);
    if (!r) *pTexObject = handle;
    return r;
}

CUresult cuSurfObjectCreate(CUsurfObject *pSurfObject, const CUDA_RESOURCE_DESC *pResDesc) {
    CUresult r = ctx_enter();
    if (r) return r;
    if (!pSurfObject || !pResDesc) return CUDA_ERROR_INVALID_VALUE;
    struct wire_texture w;
    struct texture t = {.resource = *pResDesc, .surface = true};
    r = texture_desc(&t, &w);
    uint64_t handle;
    if (!r) r = texture_create(&w, &t, &handle);
    if (!r) *pSurfObject = handle;
    return r;
}

/* Destroys an object. The number 0 is no object; destroying it succeeds, as freeing NULL does. */
static CUresult destroy(uint64_t handle, bool surface) {
    CUresult r = state_ready();
    if (r) return r;
    if (!handle || texture_destroy(handle, surface)) return CUDA_SUCCESS;
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuTexObjectDestroy(CUtexObject texObject) {
    return destroy(texObject, false);
}

CUresult cuSurfObjectDestroy(CUsurfObject surfObject) {
    return destroy(surfObject, true);
}

static CUresult find(uint64_t handle, bool surface, const void *out, struct texture *t) {
    CUresult r = ctx_enter();
    if (r) return r;
    return out && texture_find(handle, surface, t) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *pResDesc, CUtexObject texObject) {
    struct texture t;
    CUresult r = find(texObject, false, pResDesc, &t);
    if (!r) *pResDesc = t.resource;
    return r;
}

CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *pTexDesc, CUtexObject texObject) {
    struct texture t;
    CUresult r = find(texObject, false, pTexDesc, &t);
    if (!r) *pTexDesc = t.reading;
    return r;
}

CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *pResViewDesc,
                                        CUtexObject texObject) {
    struct texture t;
    CUresult r = find(texObject, false, pResViewDesc, &t);
    if (r) return r;
    if (!t.viewed) return CUDA_ERROR_INVALID_VALUE;
    *pResViewDesc = t.view;
    return CUDA_SUCCESS;
}

CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *pResDesc, CUsurfObject surfObject) {
    struct texture t;
    CUresult r = find(surfObject, true, pResDesc, &t);
    if (!r) *pResDesc = t.resource;
    return r;
}

CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t *maxWidthInElements, CUarray_format format,
                                            unsigned int numChannels, CUdevice dev) {
    struct array_element e;
    CUresult r = state_ready();
    if (r) return r;
    if (dev) return CUDA_ERROR_INVALID_DEVICE;
    if (!maxWidthInElements || !array_layout_element(format, numChannels, &e))
        return CUDA_ERROR_INVALID_VALUE;
    *maxWidthInElements = texture_desc_width(e.bytes);
    return CUDA_SUCCESS;
}
