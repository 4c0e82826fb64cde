/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls about texture and surface references.
 */
#include <string.h>

#include "proto/gen/prototypes.h"
#include "shim/api/texture/texture_desc.h"
#include "shim/api/texture/texture_ref.h"
#include "shim/context/ctx.h"
#include "shim/texture/array.h"

static CUresult find(uint64_t handle, bool surface, struct texture_ref **out) {
    CUresult r = ctx_enter();
    if (r) return r;
    *out = texture_ref_find(handle, surface);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult find_texture(CUtexref ref, struct texture_ref **out) {
    return find((uint64_t)(uintptr_t)ref, false, out);
}

static CUresult find_surface(CUsurfref ref, struct texture_ref **out) {
    return find((uint64_t)(uintptr_t)ref, true, out);
}

/* ---- lookup ---------------------------------------------------------------------------------- */

static CUresult of_module(uint64_t *handle, CUmodule module, const char *name, bool surface) {
    CUresult r = ctx_enter();
    if (r) return r;
    if (!handle || !name) return CUDA_ERROR_INVALID_VALUE;
    return texture_ref_of_module(module, name, surface, handle);
}

CUresult cuModuleGetTexRef(CUtexref *pTexRef, CUmodule hmod, const char *name) {
    return of_module((uint64_t *)pTexRef, hmod, name, false);
}

CUresult cuModuleGetSurfRef(CUsurfref *pSurfRef, CUmodule hmod, const char *name) {
    return of_module((uint64_t *)pSurfRef, hmod, name, true);
}

CUresult cuTexRefCreate(CUtexref *pTexRef) {
    CUresult r = ctx_enter();
    if (r) return r;
    return pTexRef ? texture_ref_create((uint64_t *)pTexRef) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuTexRefDestroy(CUtexref hTexRef) {
    CUresult r = ctx_enter();
    if (r) return r;
    return texture_ref_destroy((uint64_t)(uintptr_t)hTexRef) ? r : CUDA_ERROR_INVALID_VALUE;
}

/* ---- resources ------------------------------------------------------------------------------- */

static bool is_bound_as(const struct texture_ref *t, CUresourcetype type) {
    return t->bound && t->as.resource.resType == type;
}

static CUresult bind_array(struct texture_ref *t, CUarray array) {
    CUDA_RESOURCE_DESC d = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
    return texture_ref_bind(t, array ? &d : NULL);
}

CUresult cuTexRefSetArray(CUtexref hTexRef, CUarray hArray, unsigned int Flags) {
    struct texture_ref *t;
    CUresult r = find_texture(hTexRef, &t);
    if (r) return r;
    return Flags == CU_TRSA_OVERRIDE_FORMAT ? bind_array(t, hArray) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuSurfRefSetArray(CUsurfref hSurfRef, CUarray hArray, unsigned int Flags) {
    struct texture_ref *t;
    CUresult r = find_surface(hSurfRef, &t);
    if (r) return r;
    const struct array *a = array_find(hArray);
    if (Flags || (a && !(a->asked.Flags & CUDA_ARRAY3D_SURFACE_LDST)))
        return CUDA_ERROR_INVALID_VALUE;
    return bind_array(t, hArray);
}

CUresult cuTexRefSetMipmappedArray(CUtexref hTexRef, CUmipmappedArray hMipmappedArray,
                                   unsigned int Flags) {
    CUDA_RESOURCE_DESC d = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY,
                            .res.mipmap.hMipmappedArray = hMipmappedArray};
    struct texture_ref *t;
    CUresult r = find_texture(hTexRef, &t);
    if (r) return r;
    if (Flags != CU_TRSA_OVERRIDE_FORMAT) return CUDA_ERROR_INVALID_VALUE;
    return texture_ref_bind(t, hMipmappedArray ? &d : NULL);
}

/* Sets linear memory. The texture begins at an aligned address; the kernel adds the rest. */
CUresult cuTexRefSetAddress_v2(size_t *ByteOffset, CUtexref hTexRef, CUdeviceptr dptr,
                               size_t bytes) {
    const size_t beyond = dptr % ARRAY_LAYOUT_ALIGN;
    struct texture_ref *t;
    CUresult r = find_texture(hTexRef, &t);
    if (r) return r;
    if (beyond && !ByteOffset) return CUDA_ERROR_INVALID_VALUE;
    CUDA_RESOURCE_DESC d = {.resType = CU_RESOURCE_TYPE_LINEAR,
                            .res.linear = {.devPtr = dptr - beyond,
                                           .format = t->format,
                                           .numChannels = t->channels,
                                           .sizeInBytes = bytes + beyond}};
    r = texture_ref_bind(t, dptr ? &d : NULL);
    if (r) return r;
    t->addr = dptr;
    if (ByteOffset) *ByteOffset = beyond;
    return CUDA_SUCCESS;
}

CUresult cuTexRefSetAddress2D_v3(CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR *desc,
                                 CUdeviceptr dptr, size_t Pitch) {
    struct texture_ref *t;
    CUresult r = find_texture(hTexRef, &t);
    if (r) return r;
    if (!desc) return CUDA_ERROR_INVALID_VALUE;
    CUDA_RESOURCE_DESC d = {.resType = CU_RESOURCE_TYPE_PITCH2D,
                            .res.pitch2D = {.devPtr = dptr,
                                            .format = desc->Format,
                                            .numChannels = desc->NumChannels,
                                            .width = desc->Width,
                                            .height = desc->Height,
                                            .pitchInBytes = Pitch}};
    r = texture_ref_bind(t, dptr ? &d : NULL);
    if (r) return r;
    t->addr = dptr;
    t->format = desc->Format;
    t->channels = desc->NumChannels;
    return CUDA_SUCCESS;
}

/* Sets the format of linear memory. Arrays and pitched memory bring their own format. */
CUresult cuTexRefSetFormat(CUtexref hTexRef, CUarray_format fmt, int NumPackedComponents) {
    struct array_element e;
    struct texture_ref *t;
    CUresult r = find_texture(hTexRef, &t);
    if (r) return r;
    if (!array_layout_element(fmt, (unsigned int)NumPackedComponents, &e))
        return CUDA_ERROR_INVALID_VALUE;
    t->format = fmt;
    t->channels = (unsigned int)NumPackedComponents;
    if (!is_bound_as(t, CU_RESOURCE_TYPE_LINEAR)) return CUDA_SUCCESS;
    t->as.resource.res.linear.format = fmt;
    t->as.resource.res.linear.numChannels = t->channels;
    return texture_ref_update(t);
}

CUresult cuTexRefGetAddress_v2(CUdeviceptr *pdptr, CUtexref hTexRef) {
    struct texture_ref *t;
    CUresult r = find_texture(hTexRef, &t);
    if (r) return r;
    if (!pdptr ||
        (!is_bound_as(t, CU_RESOURCE_TYPE_LINEAR) && !is_bound_as(t, CU_RESOURCE_TYPE_PITCH2D)))
        return CUDA_ERROR_INVALID_VALUE;
    *pdptr = t->addr;
    return CUDA_SUCCESS;
}

static CUresult get_array(const struct texture_ref *t, CUarray *array) {
    if (!array || !is_bound_as(t, CU_RESOURCE_TYPE_ARRAY)) return CUDA_ERROR_INVALID_VALUE;
    *array = t->as.resource.res.array.hArray;
    return CUDA_SUCCESS;
}

CUresult cuTexRefGetArray(CUarray *phArray, CUtexref hTexRef) {
    struct texture_ref *t;
    CUresult r = find_texture(hTexRef, &t);
    return r ? r : get_array(t, phArray);
}

CUresult cuSurfRefGetArray(CUarray *phArray, CUsurfref hSurfRef) {
    struct texture_ref *t;
    CUresult r = find_surface(hSurfRef, &t);
    return r ? r : get_array(t, phArray);
}

CUresult cuTexRefGetMipmappedArray(CUmipmappedArray *phMipmappedArray, CUtexref hTexRef) {
    struct texture_ref *t;
    CUresult r = find_texture(hTexRef, &t);
    if (r) return r;
    if (!phMipmappedArray || !is_bound_as(t, CU_RESOURCE_TYPE_MIPMAPPED_ARRAY))
        return CUDA_ERROR_INVALID_VALUE;
    *phMipmappedArray = t->as.resource.res.mipmap.hMipmappedArray;
    return CUDA_SUCCESS;
}

CUresult cuTexRefGetFormat(CUarray_format *pFormat, int *pNumChannels, CUtexref hTexRef) {
    struct texture_ref *t;
    CUresult r = find_texture(hTexRef, &t);
    if (r) return r;
    if (pFormat) *pFormat = t->format;
    if (pNumChannels) *pNumChannels = (int)t->channels;
    return CUDA_SUCCESS;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Sets how the reference reads. An unchanged reading is not sent again. */
static CUresult set_reading(struct texture_ref *t, const CUDA_TEXTURE_DESC *d) {
    if (!memcmp(&t->as.reading, d, sizeof(*d))) return CUDA_SUCCESS;
    t->as.reading = *d;
    return texture_ref_update(t);
}

CUresult cuTexRefSetAddressMode(CUtexref hTexRef, int dim, CUaddress_mode am) {
    struct texture_ref *t;
    CUresult r = find_texture(hTexRef, &t);
    if (r) return r;
    if (dim < 0 || dim > 2 || (unsigned int)am > CU_TR_ADDRESS_MODE_BORDER)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_TEXTURE_DESC d = t->as.reading;
    d.addressMode[dim] = am;
    return set_reading(t, &d);
}

CUresult cuTexRefSetFilterMode(CUtexref hTexRef, CUfilter_mode fm) {
    struct texture_ref *t;
    CUresult r = find_texture(hTexRef, &t);
    if (r) return r;
    if ((unsigned int)fm > CU_TR_FILTER_MODE_LINEAR) return CUDA_ERROR_INVALID_VALUE;
    CUDA_TEXTURE_DESC d = t->as.reading;
    d.filterMode = fm;
    return set_reading(t, &d);
}

CUresult cuTexRefSetMipmapFilterMode(CUtexref hTexRef, CUfilter_mode fm) {
    struct texture_ref *t;
    CUresult r = find_texture(hTexRef, &t);
    if (r) return r;
    if ((unsigned int)fm > CU_TR_FILTER_MODE_LINEAR) return CUDA_ERROR_INVALID_VALUE;
    CUDA_TEXTURE_DESC d = t->as.reading;
    d.mipmapFilterMode = fm;
    return set_reading(t, &d);
}

CUresult cuTexRefSetMipmapLevelBias(CUtexref hTexRef, float bias) {
    struct texture_ref *t;
    CUresult r = find_texture(hTexRef, &t);
    if (r) return r;
    CUDA_TEXTURE_DESC d = t->as.reading;
    d.mipmapLevelBias = bias;
    return set_reading(t, &d);
}

CUresult cuTexRefSetMipmapLevelClamp(CUtexref hTexRef, float minMipmapLevelClamp,
                                     float maxMipmapLevelClamp) {
    struct texture_ref *t;
    CUresult r = find_texture(hTexRef, &t);
    if (r) return r;
    CUDA_TEXTURE_DESC d = t->as.reading;
    d.minMipmapLevelClamp = minMipmapLevelClamp;
    d.maxMipmapLevelClamp = maxMipmapLevelClamp;
    return set_reading(t, &d);
}

CUresult cuTexRefSetMaxAnisotropy(CUtexref hTexRef, unsigned int maxAniso) {
    struct texture_ref *t;
    CUresult r = find_texture(hTexRef, &t);
    if (r) return r;
    CUDA_TEXTURE_DESC d = t->as.reading;
    d.maxAnisotropy = maxAniso;
    return set_reading(t, &d);
}

CUresult cuTexRefSetBorderColor(CUtexref hTexRef, float *pBorderColor) {
    struct texture_ref *t;
    CUresult r = find_texture(hTexRef, &t);
    if (r) return r;
    if (!pBorderColor) return CUDA_ERROR_INVALID_VALUE;
    CUDA_TEXTURE_DESC d = t->as.reading;
    memcpy(d.borderColor, pBorderColor, sizeof(d.borderColor));
    return set_reading(t, &d);
}

CUresult cuTexRefSetFlags(CUtexref hTexRef, unsigned int Flags) {
    struct texture_ref *t;
    CUresult r = find_texture(hTexRef, &t);
    if (r) return r;
    CUDA_TEXTURE_DESC d = t->as.reading;
    d.flags = Flags;
    return set_reading(t, &d);
}

/* Returns the reading that a query asks about. `out`: the query's result, which must not be NULL.
 */
static CUresult reading_of(CUtexref ref, const void *out, const CUDA_TEXTURE_DESC **d) {
    struct texture_ref *t;
    CUresult r = find_texture(ref, &t);
    if (r) return r;
    *d = &t->as.reading;
    return out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuTexRefGetAddressMode(CUaddress_mode *pam, CUtexref hTexRef, int dim) {
    const CUDA_TEXTURE_DESC *d;
    CUresult r = reading_of(hTexRef, pam, &d);
    if (r) return r;
    if (dim < 0 || dim > 2) return CUDA_ERROR_INVALID_VALUE;
    *pam = d->addressMode[dim];
    return CUDA_SUCCESS;
}

CUresult cuTexRefGetFilterMode(CUfilter_mode *pfm, CUtexref hTexRef) {
    const CUDA_TEXTURE_DESC *d;
    CUresult r = reading_of(hTexRef, pfm, &d);
    if (!r) *pfm = d->filterMode;
    return r;
}

CUresult cuTexRefGetMipmapFilterMode(CUfilter_mode *pfm, CUtexref hTexRef) {
    const CUDA_TEXTURE_DESC *d;
    CUresult r = reading_of(hTexRef, pfm, &d);
    if (!r) *pfm = d->mipmapFilterMode;
    return r;
}

CUresult cuTexRefGetMipmapLevelBias(float *pbias, CUtexref hTexRef) {
    const CUDA_TEXTURE_DESC *d;
    CUresult r = reading_of(hTexRef, pbias, &d);
    if (!r) *pbias = d->mipmapLevelBias;
    return r;
}

CUresult cuTexRefGetMipmapLevelClamp(float *pminMipmapLevelClamp, float *pmaxMipmapLevelClamp,
                                     CUtexref hTexRef) {
    const CUDA_TEXTURE_DESC *d;
    CUresult r = reading_of(hTexRef, pminMipmapLevelClamp, &d);
    if (r) return r;
    if (!pmaxMipmapLevelClamp) return CUDA_ERROR_INVALID_VALUE;
    *pminMipmapLevelClamp = d->minMipmapLevelClamp;
    *pmaxMipmapLevelClamp = d->maxMipmapLevelClamp;
    return CUDA_SUCCESS;
}

CUresult cuTexRefGetMaxAnisotropy(int *pmaxAniso, CUtexref hTexRef) {
    const CUDA_TEXTURE_DESC *d;
    CUresult r = reading_of(hTexRef, pmaxAniso, &d);
    if (!r) *pmaxAniso = (int)d->maxAnisotropy;
    return r;
}

CUresult cuTexRefGetBorderColor(float *pBorderColor, CUtexref hTexRef) {
    const CUDA_TEXTURE_DESC *d;
    CUresult r = reading_of(hTexRef, pBorderColor, &d);
    if (!r) memcpy(pBorderColor, d->borderColor, sizeof(d->borderColor));
    return r;
}

CUresult cuTexRefGetFlags(unsigned int *pFlags, CUtexref hTexRef) {
    const CUDA_TEXTURE_DESC *d;
    CUresult r = reading_of(hTexRef, pFlags, &d);
    if (!r) *pFlags = d->flags;
    return r;
}
