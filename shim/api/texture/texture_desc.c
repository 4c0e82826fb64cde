/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/api/texture/texture_desc.h"

#include <string.h>

#include "common/log.h"
#include "shim/connection/state.h"
#include "shim/device/device_view.h"
#include "shim/texture/array.h"
#include "shim/transfer/stray.h"

#define LINEAR_2D(what) CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_##what

#define READING_FLAGS                                                                        \
    ((unsigned int)CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB | \
     CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | CU_TRSF_SEAMLESS_CUBEMAP)

static CUresult refuse(const char *what, unsigned int number) {
    log_warn("shim", "what=\"%s are not supported\" value=0x%x", what, number);
    return CUDA_ERROR_NOT_SUPPORTED;
}

static void set_element(struct wire_texture *w, const struct array_element *e) {
    w->format = (uint8_t)e->format;
    w->channels = (uint8_t)e->channels;
    if (e->normalized) w->flags |= WIRE_TEXTURE_NORMALIZED_VALUES;
}

/* ---- memory without a shape ------------------------------------------------------------------ */

/* Accepts memory within one window. The worker checks how much of it is backed when it is read. */
static bool in_a_window(uint64_t addr, uint64_t bytes) {
    const struct conn *c = &state.conn;
    if (!bytes || addr + bytes < addr) return false;
    return stray_has(addr, bytes) ||
           (conn_in_device(c, addr) && conn_in_device(c, addr + bytes - 1)) ||
           (conn_in_host(c, addr) && conn_in_host(c, addr + bytes - 1));
}

uint64_t texture_desc_width(uint32_t element_bytes) {
    uint32_t size = (uint32_t)__builtin_ctz(element_bytes);
    uint64_t most = size < DESCRIPTION_ELEMENTS ? state.conn.description.texture1d_linear[size] : 0;
    return most < ARRAY_LAYOUT_LINEAR_MAX ? most : ARRAY_LAYOUT_LINEAR_MAX;
}

static bool within(uint64_t size, CUdevice_attribute most, uint64_t recorded) {
    return size && size <= (uint64_t)device_view(most) && size <= recorded;
}

static CUresult linear(const CUDA_RESOURCE_DESC *d, struct array_element *e,
                       struct wire_texture *w) {
    if (!array_layout_element(d->res.linear.format, d->res.linear.numChannels, e))
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t addr = d->res.linear.devPtr, width = d->res.linear.sizeInBytes / e->bytes;
    if (addr % ARRAY_LAYOUT_ALIGN || !width || width > texture_desc_width(e->bytes) ||
        !in_a_window(addr, width * e->bytes))
        return CUDA_ERROR_INVALID_VALUE;
    w->addr = addr;
    w->width = (uint32_t)width;
    w->flags |= WIRE_TEXTURE_LINEAR;
    return CUDA_SUCCESS;
}

static CUresult pitched(const CUDA_RESOURCE_DESC *d, struct array_element *e,
                        struct wire_texture *w) {
    uint64_t addr = d->res.pitch2D.devPtr, pitch = d->res.pitch2D.pitchInBytes;
    uint64_t width = d->res.pitch2D.width, height = d->res.pitch2D.height;
    if (!array_layout_element(d->res.pitch2D.format, d->res.pitch2D.numChannels, e))
        return CUDA_ERROR_INVALID_VALUE;
    if (!within(width, LINEAR_2D(WIDTH), ARRAY_LAYOUT_SIDE_MAX) ||
        !within(height, LINEAR_2D(HEIGHT), ARRAY_LAYOUT_SIDE_MAX))
        return CUDA_ERROR_INVALID_VALUE;
    if (addr % ARRAY_LAYOUT_ALIGN || pitch % ARRAY_LAYOUT_PITCH ||
        !within(pitch, LINEAR_2D(PITCH), UINT32_MAX) || pitch < width * e->bytes ||
        !in_a_window(addr, (height - 1) * pitch + width * e->bytes))
        return CUDA_ERROR_INVALID_VALUE;
    w->addr = addr;
    w->pitch = pitch;
    w->width = (uint32_t)width;
    w->height = (uint32_t)height;
    w->flags |= WIRE_TEXTURE_PITCHED;
    return CUDA_SUCCESS;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* True for views whose integer elements stand for compressed blocks. */
static bool compressed(CUresourceViewFormat f) {
    return f >= CU_RES_VIEW_FORMAT_UNSIGNED_BC1;
}

/* Returns the element of a view format. The enum lists the kinds in this order, each with 1, 2 and
 * 4 channels. */
static struct array_element view_element(CUresourceViewFormat f) {
    static const CUarray_format kinds[] = {CU_AD_FORMAT_UNSIGNED_INT8,  CU_AD_FORMAT_SIGNED_INT8,
                                           CU_AD_FORMAT_UNSIGNED_INT16, CU_AD_FORMAT_SIGNED_INT16,
                                           CU_AD_FORMAT_UNSIGNED_INT32, CU_AD_FORMAT_SIGNED_INT32,
                                           CU_AD_FORMAT_HALF,           CU_AD_FORMAT_FLOAT};
    unsigned int n = (unsigned int)f - CU_RES_VIEW_FORMAT_UINT_1X8;
    struct array_element e;
    array_layout_element(kinds[n / 3], 1u << n % 3, &e);
    return e;
}

static bool dimension_ok(size_t viewed, size_t own) {
    return viewed == own || (!viewed && own <= 1) || (!own && viewed <= 1);
}

static CUresult view(const struct array *a, const CUDA_RESOURCE_VIEW_DESC *v,
                     struct array_element *e, struct wire_texture *w) {
    if ((unsigned int)v->format > CU_RES_VIEW_FORMAT_UNSIGNED_BC7) return CUDA_ERROR_INVALID_VALUE;
    if (compressed(v->format)) return refuse("views of compressed blocks", (unsigned int)v->format);
    bool layered = a->shape.layered;
    uint32_t layers = layered ? a->shape.depth : 1;
    if (!dimension_ok(v->width, a->asked.Width) || !dimension_ok(v->height, a->asked.Height) ||
        (!layered && !dimension_ok(v->depth, a->asked.Depth)))
        return CUDA_ERROR_INVALID_VALUE;
    if (v->firstMipmapLevel > v->lastMipmapLevel || v->lastMipmapLevel >= w->levels ||
        v->firstLayer > v->lastLayer || v->lastLayer >= layers)
        return CUDA_ERROR_INVALID_VALUE;
    w->first_level = (uint8_t)(w->first_level + v->firstMipmapLevel);
    w->levels = (uint8_t)(v->lastMipmapLevel - v->firstMipmapLevel + 1);
    if (layered) {
        w->first_layer = v->firstLayer;
        w->layers = v->lastLayer - v->firstLayer + 1;
    }
    if (v->format == CU_RES_VIEW_FORMAT_NONE) return CUDA_SUCCESS;
    struct array_element seen = view_element(v->format);
    if (seen.bytes != e->bytes || seen.channels != e->channels) return CUDA_ERROR_INVALID_VALUE;
    *e = seen;
    return CUDA_SUCCESS;
}

static CUresult array(const struct texture *t, const struct array *a, struct array_element *e,
                      struct wire_texture *w) {
    if (!a) return CUDA_ERROR_INVALID_HANDLE;
    *e = a->element;
    w->addr = a->addr;
    w->width = a->shape.width;
    w->height = a->shape.height;
    w->depth = a->shape.depth;
    w->first_level = (uint8_t)a->level;
    w->levels = (uint8_t)(a->mipmapped ? a->levels : 1);
    if (a->shape.layered) {
        w->flags |= WIRE_TEXTURE_LAYERED;
        w->layers = a->shape.depth;
    }
    return t->viewed ? view(a, &t->view, e, w) : CUDA_SUCCESS;
}

static CUresult resource(const struct texture *t, struct array_element *e, struct wire_texture *w) {
    const CUDA_RESOURCE_DESC *d = &t->resource;
    bool memory = d->resType == CU_RESOURCE_TYPE_LINEAR || d->resType == CU_RESOURCE_TYPE_PITCH2D;
    if (d->flags || (memory && t->viewed)) return CUDA_ERROR_INVALID_VALUE;
    if (t->surface && d->resType != CU_RESOURCE_TYPE_ARRAY) return CUDA_ERROR_INVALID_VALUE;
    switch (d->resType) {
    case CU_RESOURCE_TYPE_ARRAY: return array(t, array_find(d->res.array.hArray), e, w);
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        return array(t, array_find_mipmapped(d->res.mipmap.hMipmappedArray), e, w);
    case CU_RESOURCE_TYPE_LINEAR: return linear(d, e, w);
    case CU_RESOURCE_TYPE_PITCH2D: return pitched(d, e, w);
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool modes_ok(const CUDA_TEXTURE_DESC *d) {
    for (int k = 0; k < 3; k++)
        if ((unsigned int)d->addressMode[k] > CU_TR_ADDRESS_MODE_BORDER) return false;
    return (unsigned int)d->filterMode <= CU_TR_FILTER_MODE_LINEAR &&
           (unsigned int)d->mipmapFilterMode <= CU_TR_FILTER_MODE_LINEAR;
}

/* True when elements are read as floating-point numbers: only those can be filtered. */
static bool gives_numbers(const struct array_element *e, const CUDA_TEXTURE_DESC *d) {
    bool is_float = e->format == CU_AD_FORMAT_HALF || e->format == CU_AD_FORMAT_FLOAT;
    bool narrow = e->bytes / e->channels < 4;
    return is_float || e->normalized || (narrow && !(d->flags & CU_TRSF_READ_AS_INTEGER));
}

static CUresult reading(const struct texture *t, const struct array_element *e,
                        struct wire_texture *w) {
    const CUDA_TEXTURE_DESC *d = &t->reading;
    bool normalized = d->flags & CU_TRSF_NORMALIZED_COORDINATES;
    bool linear = t->resource.resType == CU_RESOURCE_TYPE_LINEAR;
    if (!modes_ok(d) || d->flags & ~READING_FLAGS) return CUDA_ERROR_INVALID_VALUE;
    if (t->resource.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY && !normalized)
        return CUDA_ERROR_INVALID_VALUE;
    if (!linear && d->filterMode == CU_TR_FILTER_MODE_LINEAR && !gives_numbers(e, d))
        return CUDA_ERROR_INVALID_VALUE;
    if (normalized) w->flags |= WIRE_TEXTURE_NORMALIZED_COORDS;
    if (!(d->flags & CU_TRSF_READ_AS_INTEGER)) w->flags |= WIRE_TEXTURE_NORMALIZED_VALUES;
    if (d->flags & CU_TRSF_SRGB) w->flags |= WIRE_TEXTURE_SRGB;
    if (d->flags & CU_TRSF_SEAMLESS_CUBEMAP) w->flags |= WIRE_TEXTURE_SEAMLESS;
    for (int k = 0; k < 3; k++)
        w->address_mode[k] = (uint8_t)d->addressMode[k];
    w->filter = (uint8_t)d->filterMode;
    w->level_filter = (uint8_t)d->mipmapFilterMode;
    w->anisotropy = (uint8_t)(d->maxAnisotropy < 16 ? d->maxAnisotropy : 16);
    w->level_bias = d->mipmapLevelBias;
    w->least_level = d->minMipmapLevelClamp;
    w->most_level = d->maxMipmapLevelClamp;
    memcpy(w->border, d->borderColor, sizeof(w->border));
    return CUDA_SUCCESS;
}

CUresult texture_desc(const struct texture *t, struct wire_texture *w) {
    struct array_element e;
    *w = (struct wire_texture){.height = 1, .depth = 1, .levels = 1};
    CUresult r = resource(t, &e, w);
    if (!r && !t->surface) r = reading(t, &e, w);
    if (r) return r;
    set_element(w, &e);
    if (t->surface) w->flags |= WIRE_TEXTURE_SURFACE;
    return CUDA_SUCCESS;
}
