/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture and surface references. They only check the rules and record their settings: nothing
 * reads through them.
 */
#include "test/lib/driver/fake_state.h"

#define ALIGN 512u
#define PITCH 32u
#define FLAGS                                                                                \
    ((unsigned int)CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB | \
     CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | CU_TRSF_SEAMLESS_CUBEMAP)

static void *at(uint64_t addr) {
    return (void *)(uintptr_t)addr;
}

/* ---- by name --------------------------------------------------------------------------------- */

static CUresult get(CUmodule module, const char *name, bool surface, const struct object **out,
                    const char *call) {
    const struct object *m = fake_object(OBJECT_MODULE, module);
    if (!m) return fake_misuse(CUDA_ERROR_INVALID_HANDLE, call, "no module, or none any more");
    const struct object *r = fake_module_named(OBJECT_REFERENCE, m, name);
    if (!r || r->index != surface) return CUDA_ERROR_NOT_FOUND;
    *out = r;
    return CUDA_SUCCESS;
}

CUresult cuModuleGetTexRef(CUtexref *out, CUmodule module, const char *name) {
    FAKE_CALL(true);
    const struct object *o;
    CUresult r = get(module, name, false, &o, __func__);
    if (!r) *out = at(o->id);
    return r;
}

CUresult cuModuleGetSurfRef(CUsurfref *out, CUmodule module, const char *name) {
    FAKE_CALL(true);
    const struct object *o;
    CUresult r = get(module, name, true, &o, __func__);
    if (!r) *out = at(o->id);
    return r;
}

/* ---- what references read -------------------------------------------------------------------- */

#define FIND_TEXTURE(ref)                                  \
    struct object *o = fake_object(OBJECT_REFERENCE, ref); \
    if (!o || o->index)                                    \
    return FAKE_MISUSE(CUDA_ERROR_INVALID_HANDLE, "no texture reference, or none any more")

static void bind(struct object *o, struct object *array, const CUDA_RESOURCE_DESC *resource) {
    o->reads = array;
    o->told.resource = *resource;
    o->told.level = array ? array->params[FAKE_LEVEL] : 0;
    o->told.elements = array ? array->bytes / 4 : 0;
}

CUresult cuTexRefSetArray(CUtexref ref, CUarray array, unsigned int flags) {
    FAKE_CALL(true);
    FIND_TEXTURE(ref);
    struct object *a = fake_object(OBJECT_ARRAY, array);
    if (!a) return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "no array, or none any more");
    if (flags != CU_TRSA_OVERRIDE_FORMAT) return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "flags");
    bind(o, a, &(CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array});
    return CUDA_SUCCESS;
}

CUresult cuTexRefSetMipmappedArray(CUtexref ref, CUmipmappedArray array, unsigned int flags) {
    FAKE_CALL(true);
    FIND_TEXTURE(ref);
    struct object *a = fake_object(OBJECT_MIPMAPPED, array);
    if (!a) return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "no mipmapped array, or none any more");
    if (flags != CU_TRSA_OVERRIDE_FORMAT) return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "flags");
    bind(o, a,
         &(CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY,
                               .res.mipmap.hMipmappedArray = array});
    return CUDA_SUCCESS;
}

CUresult cuSurfRefSetArray(CUsurfref ref, CUarray array, unsigned int flags) {
    FAKE_CALL(true);
    struct object *o = fake_object(OBJECT_REFERENCE, ref), *a = fake_object(OBJECT_ARRAY, array);
    if (!o || !o->index)
        return FAKE_MISUSE(CUDA_ERROR_INVALID_HANDLE, "no surface reference, or none any more");
    if (!a || flags) return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "no array, or flags");
    if (!a->params[FAKE_STORED]) return CUDA_ERROR_INVALID_VALUE;
    bind(o, a, &(CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array});
    return CUDA_SUCCESS;
}

static bool channels_ok(unsigned int channels) {
    return channels == 1 || channels == 2 || channels == 4;
}

/* Sets the format of linear memory; comes before the call that sets its address. */
CUresult cuTexRefSetFormat(CUtexref ref, CUarray_format format, int channels) {
    FAKE_CALL(true);
    FIND_TEXTURE(ref);
    if (!channels_ok((unsigned int)channels))
        return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "so many channels");
    bind(o, NULL,
         &(CUDA_RESOURCE_DESC){
             .resType = CU_RESOURCE_TYPE_LINEAR,
             .res.linear = {.format = format, .numChannels = (unsigned int)channels}});
    return CUDA_SUCCESS;
}

CUresult cuTexRefSetAddress_v2(size_t *beyond, CUtexref ref, CUdeviceptr addr, size_t bytes) {
    FAKE_CALL(true);
    FIND_TEXTURE(ref);
    if (o->told.resource.resType != CU_RESOURCE_TYPE_LINEAR || o->reads)
        return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "an address before its format");
    if (!bytes || !fake_memory_reached(addr, bytes, false))
        return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "memory that is not there");
    if (addr % ALIGN && !beyond) return CUDA_ERROR_INVALID_VALUE;
    if (beyond) *beyond = addr % ALIGN;
    o->told.resource.res.linear.devPtr = addr - addr % ALIGN;
    o->told.resource.res.linear.sizeInBytes = bytes;
    return CUDA_SUCCESS;
}

CUresult cuTexRefSetAddress2D_v3(CUtexref ref, const CUDA_ARRAY_DESCRIPTOR *d, CUdeviceptr addr,
                                 size_t pitch) {
    FAKE_CALL(true);
    FIND_TEXTURE(ref);
    if (!d->Width || !d->Height || !channels_ok(d->NumChannels))
        return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "no rows, or so many channels");
    if (addr % ALIGN || pitch % PITCH) return CUDA_ERROR_INVALID_VALUE;
    if (!fake_memory_reached(addr, (d->Height - 1) * pitch + d->Width, false))
        return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "memory that is not there");
    bind(o, NULL,
         &(CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_PITCH2D,
                               .res.pitch2D = {.devPtr = addr,
                                               .format = d->Format,
                                               .numChannels = d->NumChannels,
                                               .width = d->Width,
                                               .height = d->Height,
                                               .pitchInBytes = pitch}});
    return CUDA_SUCCESS;
}

/* ---- how references read --------------------------------------------------------------------- */

CUresult cuTexRefSetAddressMode(CUtexref ref, int dim, CUaddress_mode mode) {
    FAKE_CALL(true);
    FIND_TEXTURE(ref);
    if (dim < 0 || dim > 2 || (unsigned int)mode > CU_TR_ADDRESS_MODE_BORDER)
        return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "no such dimension, or mode");
    o->told.reading.addressMode[dim] = mode;
    return CUDA_SUCCESS;
}

CUresult cuTexRefSetFilterMode(CUtexref ref, CUfilter_mode mode) {
    FAKE_CALL(true);
    FIND_TEXTURE(ref);
    o->told.reading.filterMode = mode;
    return CUDA_SUCCESS;
}

CUresult cuTexRefSetMipmapFilterMode(CUtexref ref, CUfilter_mode mode) {
    FAKE_CALL(true);
    FIND_TEXTURE(ref);
    o->told.reading.mipmapFilterMode = mode;
    return CUDA_SUCCESS;
}

CUresult cuTexRefSetMipmapLevelBias(CUtexref ref, float bias) {
    FAKE_CALL(true);
    FIND_TEXTURE(ref);
    o->told.reading.mipmapLevelBias = bias;
    return CUDA_SUCCESS;
}

CUresult cuTexRefSetMipmapLevelClamp(CUtexref ref, float least, float most) {
    FAKE_CALL(true);
    FIND_TEXTURE(ref);
    o->told.reading.minMipmapLevelClamp = least;
    o->told.reading.maxMipmapLevelClamp = most;
    return CUDA_SUCCESS;
}

CUresult cuTexRefSetMaxAnisotropy(CUtexref ref, unsigned int most) {
    FAKE_CALL(true);
    FIND_TEXTURE(ref);
    if (!most) return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "no anisotropy is 1");
    o->told.reading.maxAnisotropy = most;
    return CUDA_SUCCESS;
}

CUresult cuTexRefSetBorderColor(CUtexref ref, float *color) {
    FAKE_CALL(true);
    FIND_TEXTURE(ref);
    for (int k = 0; k < 4; k++)
        o->told.reading.borderColor[k] = color[k];
    return CUDA_SUCCESS;
}

CUresult cuTexRefSetFlags(CUtexref ref, unsigned int flags) {
    FAKE_CALL(true);
    FIND_TEXTURE(ref);
    if (flags & ~FLAGS) return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "unknown flags");
    o->told.reading.flags = flags;
    return CUDA_SUCCESS;
}
