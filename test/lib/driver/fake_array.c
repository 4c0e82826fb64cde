/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays: rows without gaps in their own memory, one object a level. Also copies of arrays, and
 * texture and surface objects, which only check the rules: nothing reads through them.
 */
#include <stdlib.h>
#include <string.h>

#include "test/lib/driver/fake_state.h"

#define LEVELS 16u

static void *at(uint64_t addr) {
    return (void *)(uintptr_t)addr;
}

/* ---- shapes: params of an object ------------------------------------------------------------- */

enum { ROW_BYTES, ROWS, SLICES, LEVEL = FAKE_LEVEL, DEPTH, LAYERED, STORED = FAKE_STORED };

static uint32_t channel_bytes(CUarray_format f) {
    switch (f) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: return 2;
    default: return 4;
    }
}

static uint32_t at_least_one(size_t size) {
    return size ? (uint32_t)size : 1;
}

static bool is_layered(const CUDA_ARRAY3D_DESCRIPTOR *d) {
    return d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
}

static struct object *new_level(const CUDA_ARRAY3D_DESCRIPTOR *d, uint32_t level,
                                struct object *owner) {
    uint32_t row = at_least_one(d->Width >> level) * channel_bytes(d->Format) * d->NumChannels;
    uint32_t rows = at_least_one(d->Height >> level);
    uint32_t slices = is_layered(d) ? at_least_one(d->Depth) : at_least_one(d->Depth >> level);
    uint64_t bytes = (uint64_t)row * rows * slices;
    void *memory = malloc(bytes);
    if (!memory) abort();
    memset(memory, 0xee, bytes); /* new memory has arbitrary contents */
    struct object *o = fake_object_new(OBJECT_ARRAY, (uintptr_t)memory, bytes);
    o->owner = owner;
    o->params[ROW_BYTES] = row;
    o->params[ROWS] = rows;
    o->params[SLICES] = slices;
    o->params[LEVEL] = level;
    o->params[LAYERED] = is_layered(d);
    o->params[STORED] = (d->Flags & CUDA_ARRAY3D_SURFACE_LDST) != 0;
    return o;
}

void fake_array_forget(struct object *o) {
    free(at(o->addr));
}

static CUresult check_shape(const CUDA_ARRAY3D_DESCRIPTOR *d, const char *call) {
    bool cube = d->Flags & CUDA_ARRAY3D_CUBEMAP;
    if (!d->Width || (d->NumChannels != 1 && d->NumChannels != 2 && d->NumChannels != 4))
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, call, "no width, or so many channels");
    if (cube && (d->Width != d->Height || !d->Depth || d->Depth % 6))
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, call, "a cube without six square faces");
    if ((d->Flags & CUDA_ARRAY3D_LAYERED) && !d->Depth)
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, call, "layers, but none");
    return CUDA_SUCCESS;
}

/* ---- creation and destruction ---------------------------------------------------------------- */

CUresult cuArray3DCreate_v2(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *d) {
    FAKE_CALL(true);
    CUresult r = check_shape(d, __func__);
    if (!r) *out = at(new_level(d, 0, NULL)->id);
    return r;
}

static bool uses(const struct item *i, const struct object *o) {
    return i->kind == FAKE_COPY && (i->dst - o->addr < o->bytes || i->src - o->addr < o->bytes);
}

/* Reports a misuse if an item may still read or write the array, or an object shows it. */
static void check_unused(const struct object *array, const char *call) {
    for (const struct object *o = fake.objects; o; o = o->next) {
        if (o->kind == OBJECT_TEXTURE && o->owner == array)
            fake_misuse(CUDA_SUCCESS, call, "with a texture of it");
        if (o->kind == OBJECT_REFERENCE && o->reads == array)
            fake_misuse(CUDA_SUCCESS, call, "with a reference to it");
        for (const struct item *i = o->kind == OBJECT_STREAM ? o->first : NULL; i; i = i->next)
            if (uses(i, array)) fake_misuse(CUDA_SUCCESS, call, "with copies of it under way");
    }
}

static void end(struct object *o, const char *call) {
    check_unused(o, call);
    if (o->kind == OBJECT_ARRAY) fake_array_forget(o);
    fake_object_free(o);
}

CUresult cuArrayDestroy(CUarray array) {
    FAKE_CALL(true);
    struct object *o = fake_object(OBJECT_ARRAY, array);
    if (!o || o->owner) return FAKE_MISUSE(CUDA_ERROR_INVALID_HANDLE, "no array by itself");
    end(o, __func__);
    return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray *out, const CUDA_ARRAY3D_DESCRIPTOR *d,
                                unsigned int levels) {
    FAKE_CALL(true);
    CUresult r = check_shape(d, __func__);
    if (r || !levels || levels > LEVELS) return r ? r : CUDA_ERROR_INVALID_VALUE;
    struct object *o = fake_object_new(OBJECT_MIPMAPPED, 0, 0);
    o->param_count = levels;
    o->params[DEPTH] = (uint32_t)d->Depth;
    o->params[LAYERED] = is_layered(d);
    for (uint32_t k = 0; k < levels; k++)
        new_level(d, k, o);
    *out = at(o->id);
    return CUDA_SUCCESS;
}

static struct object *level_of(const struct object *mipmapped, uint32_t level) {
    struct object *o = fake.objects;
    while (o && !(o->kind == OBJECT_ARRAY && o->owner == mipmapped && o->params[LEVEL] == level))
        o = o->next;
    return o;
}

CUresult cuMipmappedArrayGetLevel(CUarray *out, CUmipmappedArray array, unsigned int level) {
    FAKE_CALL(true);
    const struct object *o = fake_object(OBJECT_MIPMAPPED, array);
    if (!o) return FAKE_MISUSE(CUDA_ERROR_INVALID_HANDLE, "no mipmapped array");
    if (level >= o->param_count) return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, "no such level");
    *out = at(level_of(o, level)->id);
    return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray array) {
    FAKE_CALL(true);
    struct object *o = fake_object(OBJECT_MIPMAPPED, array);
    if (!o) return FAKE_MISUSE(CUDA_ERROR_INVALID_HANDLE, "no mipmapped array");
    for (uint32_t k = 0; k < o->param_count; k++)
        end(level_of(o, k), __func__);
    end(o, __func__);
    return CUDA_SUCCESS;
}

/* ---- copies ---------------------------------------------------------------------------------- */

struct side {
    uint64_t addr, pitch, slice;
};

struct box {
    size_t width, rows, slices;
};

static bool within(size_t first, size_t count, size_t all) {
    return first <= all && count <= all - first;
}

static const char *in_array(const struct object *o, size_t x, size_t y, size_t z,
                            const struct box *b, struct side *out) {
    if (!o) return "an array that there is not";
    if (!within(x, b->width, o->params[ROW_BYTES]) || !within(y, b->rows, o->params[ROWS]) ||
        !within(z, b->slices, o->params[SLICES]))
        return "beyond an array";
    out->pitch = o->params[ROW_BYTES];
    out->slice = out->pitch * o->params[ROWS];
    out->addr = o->addr + z * out->slice + y * out->pitch + x;
    return NULL;
}

static const char *in_memory(CUmemorytype type, uint64_t addr, size_t x, size_t pitch,
                             size_t height, const struct box *b, struct side *out) {
    if (type != CU_MEMORYTYPE_UNIFIED) return "not by address alone";
    if (pitch < x + b->width) return "rows lie in one another";
    if (b->slices > 1 && height < b->rows) return "slices lie in one another";
    *out = (struct side){.addr = addr + x, .pitch = pitch, .slice = pitch * height};
    return NULL;
}

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *c, CUstream stream) {
    FAKE_CALL(true);
    const struct box b = {c->WidthInBytes, c->Height, c->Depth};
    struct side dst, src;
    const char *wrong = c->srcMemoryType == CU_MEMORYTYPE_ARRAY
                            ? in_array(fake_object(OBJECT_ARRAY, c->srcArray), c->srcXInBytes,
                                       c->srcY, c->srcZ, &b, &src)
                            : in_memory(c->srcMemoryType, c->srcDevice, c->srcXInBytes, c->srcPitch,
                                        c->srcHeight, &b, &src);
    if (!wrong)
        wrong = c->dstMemoryType == CU_MEMORYTYPE_ARRAY
                    ? in_array(fake_object(OBJECT_ARRAY, c->dstArray), c->dstXInBytes, c->dstY,
                               c->dstZ, &b, &dst)
                    : in_memory(c->dstMemoryType, c->dstDevice, c->dstXInBytes, c->dstPitch,
                                c->dstHeight, &b, &dst);
    if (!wrong && (!b.width || !b.rows || !b.slices || c->srcLOD || c->dstLOD))
        wrong = "of nothing, or of a level";
    if (wrong) return FAKE_MISUSE(CUDA_ERROR_INVALID_VALUE, wrong);
    for (size_t z = 0; z < b.slices; z++) {
        struct item i = {.kind = FAKE_COPY,
                         .dst = dst.addr + z * dst.slice,
                         .src = src.addr + z * src.slice,
                         .width = b.width,
                         .rows = b.rows,
                         .dst_pitch = dst.pitch,
                         .src_pitch = src.pitch};
        CUresult r = fake_stream_add(stream, &i, __func__);
        if (r) return r;
    }
    return CUDA_SUCCESS;
}

/* ---- textures and surfaces ------------------------------------------------------------------- */

static const char *check_memory(const CUDA_RESOURCE_DESC *r) {
    uint64_t addr = r->res.linear.devPtr, bytes = r->res.linear.sizeInBytes;
    if (r->resType == CU_RESOURCE_TYPE_PITCH2D) {
        addr = r->res.pitch2D.devPtr;
        bytes = (r->res.pitch2D.height - 1) * r->res.pitch2D.pitchInBytes +
                r->res.pitch2D.width * channel_bytes(r->res.pitch2D.format) *
                    r->res.pitch2D.numChannels;
    }
    return bytes && fake_memory_reached(addr, bytes, false) ? NULL : "memory that is not there";
}

static const char *check_view(const CUDA_RESOURCE_VIEW_DESC *v, const struct object *o) {
    uint32_t levels = o->kind == OBJECT_MIPMAPPED ? o->param_count : 1;
    uint32_t layers = o->kind == OBJECT_MIPMAPPED ? o->params[DEPTH] : o->params[SLICES];
    if (!v) return NULL;
    if (v->firstMipmapLevel > v->lastMipmapLevel || v->lastMipmapLevel >= levels)
        return "levels that there are not";
    if (v->firstLayer > v->lastLayer || (o->params[LAYERED] && v->lastLayer >= layers))
        return "layers that there are not";
    return NULL;
}

static void note(const CUDA_RESOURCE_DESC *r, const CUDA_TEXTURE_DESC *reading,
                 const CUDA_RESOURCE_VIEW_DESC *v, const struct object *of) {
    fake.last_texture = (struct fake_texture){.resource = *r,
                                              .viewed = v != NULL,
                                              .surface = !reading,
                                              .level = of ? of->params[LEVEL] : 0};
    if (reading) fake.last_texture.reading = *reading;
    if (v) fake.last_texture.view = *v;
}

/* `reading` is NULL for a surface. */
static CUresult show(const CUDA_RESOURCE_DESC *r, const CUDA_TEXTURE_DESC *reading,
                     const CUDA_RESOURCE_VIEW_DESC *v, unsigned long long *out, const char *call) {
    struct object *of = NULL;
    const char *wrong = NULL;
    bool memory = r->resType == CU_RESOURCE_TYPE_LINEAR || r->resType == CU_RESOURCE_TYPE_PITCH2D;
    if (r->resType == CU_RESOURCE_TYPE_ARRAY) of = fake_object(OBJECT_ARRAY, r->res.array.hArray);
    if (r->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
        of = fake_object(OBJECT_MIPMAPPED, r->res.mipmap.hMipmappedArray);
    if (memory)
        wrong = v ? "a view of memory" : check_memory(r);
    else
        wrong = of ? check_view(v, of) : "an array that there is not";
    if (!reading && (!of || of->kind != OBJECT_ARRAY)) wrong = "a surface of what is no array";
    if (wrong) return fake_misuse(CUDA_ERROR_INVALID_VALUE, call, wrong);
    struct object *o = fake_object_new(OBJECT_TEXTURE, 0, 0);
    o->owner = of;
    o->index = !reading;
    note(r, reading, v, of);
    *out = o->id;
    return CUDA_SUCCESS;
}

static CUresult hide(unsigned long long object, bool surface, const char *call) {
    struct object *o = fake_object(OBJECT_TEXTURE, at(object));
    if (!o || o->index != surface)
        return fake_misuse(CUDA_ERROR_INVALID_HANDLE, call, "none, or none any more");
    fake_object_free(o);
    return CUDA_SUCCESS;
}

CUresult cuTexObjectCreate(CUtexObject *out, const CUDA_RESOURCE_DESC *resource,
                           const CUDA_TEXTURE_DESC *reading, const CUDA_RESOURCE_VIEW_DESC *view) {
    FAKE_CALL(true);
    if (resource->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY &&
        !(reading->flags & CU_TRSF_NORMALIZED_COORDINATES))
        return CUDA_ERROR_INVALID_VALUE;
    return show(resource, reading, view, out, __func__);
}

CUresult cuTexObjectDestroy(CUtexObject object) {
    FAKE_CALL(true);
    return hide(object, false, __func__);
}

CUresult cuSurfObjectCreate(CUsurfObject *out, const CUDA_RESOURCE_DESC *resource) {
    FAKE_CALL(true);
    return show(resource, NULL, NULL, out, __func__);
}

CUresult cuSurfObjectDestroy(CUsurfObject object) {
    FAKE_CALL(true);
    return hide(object, true, __func__);
}
