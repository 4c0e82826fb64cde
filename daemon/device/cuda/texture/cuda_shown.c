/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/cuda/texture/cuda_shown.h"

#include <errno.h>
#include <string.h>

#include "daemon/device/device_textures.h"

/* ---- resources ------------------------------------------------------------------------------- */

/* The format for reading elements as others of their size. The driver's list has the kinds of a
 * channel, each with 1, 2 and 4 channels. UNORM and SNORM are always read as fractions. */
static CUresourceViewFormat other_format(const struct dev_texture *t, const struct array *a) {
    static const CUarray_format kinds[] = {CU_AD_FORMAT_UNSIGNED_INT8,  CU_AD_FORMAT_SIGNED_INT8,
                                           CU_AD_FORMAT_UNSIGNED_INT16, CU_AD_FORMAT_SIGNED_INT16,
                                           CU_AD_FORMAT_UNSIGNED_INT32, CU_AD_FORMAT_SIGNED_INT32,
                                           CU_AD_FORMAT_HALF,           CU_AD_FORMAT_FLOAT};
    if (t->format == a->as.format || (a->as.normalized && t->normalized_values))
        return CU_RES_VIEW_FORMAT_NONE;
    unsigned int k = 0;
    while (k < sizeof(kinds) / sizeof(kinds[0]) - 1 && kinds[k] != (CUarray_format)t->format)
        k++;
    return (CUresourceViewFormat)(CU_RES_VIEW_FORMAT_UINT_1X8 + 3 * k +
                                  (unsigned int)__builtin_ctz(t->channels));
}

static CUDA_RESOURCE_DESC memory_of(const struct dev_texture *t) {
    const struct dev_texture_level *l = &t->levels[0];
    CUDA_RESOURCE_DESC d = {.resType = CU_RESOURCE_TYPE_LINEAR};
    if (t->linear) {
        d.res.linear.devPtr = l->addr;
        d.res.linear.format = (CUarray_format)t->format;
        d.res.linear.numChannels = t->channels;
        d.res.linear.sizeInBytes = (size_t)l->width * t->element_bytes;
        return d;
    }
    d.resType = CU_RESOURCE_TYPE_PITCH2D;
    d.res.pitch2D.devPtr = l->addr;
    d.res.pitch2D.format = (CUarray_format)t->format;
    d.res.pitch2D.numChannels = t->channels;
    d.res.pitch2D.width = l->width;
    d.res.pitch2D.height = l->height;
    d.res.pitch2D.pitchInBytes = l->pitch;
    return d;
}

/* One level is an array by itself; surfaces are possible only on such an array. */
static CUDA_RESOURCE_DESC array_of(const struct dev_texture *t, const struct array *a) {
    CUDA_RESOURCE_DESC d = {.resType = CU_RESOURCE_TYPE_ARRAY};
    if (t->level_count == 1) {
        d.res.array.hArray = a->levels[t->first_level];
        return d;
    }
    d.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    d.res.mipmap.hMipmappedArray = a->mipmapped;
    return d;
}

bool cuda_shown_view(const struct dev_texture *t, const struct array *a,
                     CUDA_RESOURCE_VIEW_DESC *v) {
    bool one = t->level_count == 1;
    const CUDA_ARRAY3D_DESCRIPTOR d = cuda_array_describe(&a->as, one ? t->first_level : 0);
    uint32_t layers = t->layered ? t->levels[0].depth : 0;
    *v = (CUDA_RESOURCE_VIEW_DESC){.format = other_format(t, a),
                                   .width = d.Width,
                                   .height = d.Height,
                                   .depth = d.Depth,
                                   .firstMipmapLevel = one ? 0 : t->first_level,
                                   .lastMipmapLevel =
                                       one ? 0u : t->first_level + t->level_count - 1u,
                                   .firstLayer = t->first_layer,
                                   .lastLayer = layers ? t->first_layer + layers - 1 : 0};
    return v->format || (layers && layers != a->as.depth) ||
           (!one && t->level_count != a->as.level_count);
}

CUDA_RESOURCE_DESC cuda_shown_resource(const struct dev_texture *t, const struct array *of) {
    return of ? array_of(t, of) : memory_of(t);
}

/* ---- texture descriptions -------------------------------------------------------------------- */

CUDA_TEXTURE_DESC cuda_shown_reading(const struct dev_texture *t) {
    CUDA_TEXTURE_DESC d = {.filterMode = (CUfilter_mode)t->filter,
                           .mipmapFilterMode = (CUfilter_mode)t->level_filter,
                           .maxAnisotropy = t->anisotropy,
                           .mipmapLevelBias = t->level_bias,
                           .minMipmapLevelClamp = t->least_level,
                           .maxMipmapLevelClamp = t->most_level};
    for (int k = 0; k < 3; k++)
        d.addressMode[k] = (CUaddress_mode)t->address_mode[k];
    memcpy(d.borderColor, t->border, sizeof(d.borderColor));
    if (!t->normalized_values) d.flags |= CU_TRSF_READ_AS_INTEGER;
    if (t->normalized_coords) d.flags |= CU_TRSF_NORMALIZED_COORDINATES;
    if (t->srgb) d.flags |= CU_TRSF_SRGB;
    if (t->seamless) d.flags |= CU_TRSF_SEAMLESS_CUBEMAP;
    return d;
}

/* ---- checking the resource ------------------------------------------------------------------- */

/* The description must match the existing array. */
static bool fits(const struct dev_texture *t, const struct array *a) {
    const struct dev_texture_level *own = &a->as.levels[t->first_level];
    uint64_t skipped = own->slice * t->first_layer;
    bool layers = a->as.flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
    if (a->as.addr != t->base || t->first_level + t->level_count > a->as.level_count) return false;
    if (t->layered != layers || t->element_bytes != a->as.element_bytes ||
        t->channels != a->as.channels)
        return false;
    const struct dev_texture_level *l = &t->levels[0];
    return l->addr == own->addr + skipped && l->width == own->width && l->height == own->height &&
           l->depth <= own->depth && (t->layered || l->depth == own->depth) &&
           l->pitch == own->pitch;
}

/* The result of reading an address that is not backed would be undefined. */
static bool is_there(const struct dev_space *s, const struct dev_texture *t) {
    const struct dev_texture_level *l = &t->levels[0];
    uint64_t row = (uint64_t)l->width * t->element_bytes;
    return cuda_space_has(s, l->addr, (l->height - 1) * l->pitch + row);
}

int cuda_shown_find(const struct dev_space *s, const struct dev_texture *t, struct array **of) {
    *of = t->of_array ? cuda_array_find(s, t->base) : NULL;
    if (t->surface && !t->of_array) return -EINVAL;
    if (t->of_array) return *of && fits(t, *of) ? 0 : -EINVAL;
    return is_there(s, t) ? 0 : -EINVAL;
}
