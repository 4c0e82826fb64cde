/* SPDX-License-Identifier: Apache-2.0
 *
 * A table by address, the driver's handles, and copies by them.
 */
#include "daemon/device/cuda/texture/cuda_array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/device_arrays.h"
#include "daemon/device/device_textures.h"

static const struct driver *driver_of(const struct dev_space *s) {
    return &s->chunks->context->driver;
}

static int result(const struct dev_space *s, CUresult r) {
    return context_result(s->chunks->context, r);
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Number of arrays that begin at or below the address. */
static uint32_t place_of(const struct arrays *t, uint64_t addr) {
    uint32_t first = 0, end = t->count;
    while (first < end) {
        uint32_t middle = first + (end - first) / 2;
        if (t->items[middle]->as.addr <= addr)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

struct array *cuda_array_find(const struct dev_space *s, uint64_t addr) {
    const struct arrays *t = &s->arrays;
    uint32_t place = place_of(t, addr);
    struct array *a = place ? t->items[place - 1] : NULL;
    return a && addr - a->as.addr < a->as.bytes ? a : NULL;
}

static bool is_free(const struct dev_space *s, uint64_t addr, uint64_t bytes) {
    const struct arrays *t = &s->arrays;
    uint32_t place = place_of(t, addr);
    if (cuda_array_find(s, addr)) return false;
    return place == t->count || t->items[place]->as.addr - addr >= bytes;
}

static int need_room(struct arrays *t) {
    if (t->count < t->room) return 0;
    uint32_t room = t->room ? 2 * t->room : 16;
    struct array **more = realloc(t->items, room * sizeof(struct array *));
    if (!more) return -ENOMEM;
    t->items = more;
    t->room = room;
    return 0;
}

static void insert(struct arrays *t, struct array *a) {
    uint32_t place = place_of(t, a->as.addr);
    memmove(t->items + place + 1, t->items + place, (t->count - place) * sizeof(struct array *));
    t->items[place] = a;
    t->count++;
}

static void take_out(struct arrays *t, const struct array *a) {
    uint32_t place = place_of(t, a->as.addr) - 1;
    t->count--;
    memmove(t->items + place, t->items + place + 1, (t->count - place) * sizeof(struct array *));
}

/* ---- creating and destroying arrays ---------------------------------------------------------- */

static uint32_t halved(uint32_t size, uint32_t level) {
    return !size || size >> level ? size >> level : 1;
}

CUDA_ARRAY3D_DESCRIPTOR cuda_array_describe(const struct dev_array *as, uint32_t level) {
    bool layers = as->flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
    return (CUDA_ARRAY3D_DESCRIPTOR){.Width = halved(as->width, level),
                                     .Height = halved(as->height, level),
                                     .Depth = layers ? as->depth : halved(as->depth, level),
                                     .Format = (CUarray_format)as->format,
                                     .NumChannels = as->channels,
                                     .Flags = as->flags};
}

static int make(const struct dev_space *s, struct array *a) {
    const struct driver *d = driver_of(s);
    const CUDA_ARRAY3D_DESCRIPTOR asked = cuda_array_describe(&a->as, 0);
    if (!a->as.mipmapped) return result(s, d->cuArray3DCreate_v2(&a->levels[0], &asked));
    int err = result(s, d->cuMipmappedArrayCreate(&a->mipmapped, &asked, a->as.level_count));
    for (uint32_t k = 0; !err && k < a->as.level_count; k++)
        err = result(s, d->cuMipmappedArrayGetLevel(&a->levels[k], a->mipmapped, k));
    return err;
}

/* Levels are freed with their mipmapped array. */
static void unmake(const struct dev_space *s, struct array *a) {
    const struct driver *d = driver_of(s);
    if (a->mipmapped)
        result(s, d->cuMipmappedArrayDestroy(a->mipmapped));
    else if (a->levels[0])
        result(s, d->cuArrayDestroy(a->levels[0]));
    free(a);
}

int cuda_array_create(struct dev_space *s, const struct dev_array *as) {
    if (!is_free(s, as->addr, as->bytes)) return -EEXIST;
    int err = need_room(&s->arrays);
    struct array *a = err ? NULL : calloc(1, sizeof(*a));
    if (!a) return err ? err : -ENOMEM;
    a->as = *as;
    list_init(&a->textures);
    err = make(s, a);
    if (err) {
        unmake(s, a);
        return err;
    }
    insert(&s->arrays, a);
    s->chunks->array_bytes += as->charge_bytes;
    return 0;
}

void cuda_array_destroy(struct dev_space *s, struct array *a) {
    take_out(&s->arrays, a);
    s->chunks->array_bytes -= a->as.charge_bytes;
    unmake(s, a);
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* The beginning of one side of a copy. */
struct place {
    CUarray array; /* NULL: in memory */
    uint64_t x, y, z;
    uint64_t addr, pitch, rows; /* in memory; rows: of a slice */
};

/* The level of an address of the array; addresses between two levels belong to the former. */
static uint32_t level_at(const struct array *a, uint64_t addr) {
    uint32_t k = a->as.level_count - 1;
    while (k && a->as.levels[k].addr > addr)
        k--;
    return k;
}

static bool within(uint64_t first, uint64_t count, uint64_t all) {
    return first <= all && count <= all - first;
}

/* False: it does not lie in one level, row by row. */
static bool locate(const struct array *a, const struct dev_copy *k, uint64_t addr, uint64_t pitch,
                   uint64_t slice, struct place *out) {
    uint32_t level = level_at(a, addr);
    const struct dev_texture_level *l = &a->as.levels[level];
    uint64_t offset = addr - l->addr;
    *out = (struct place){.array = a->levels[level],
                          .x = offset % l->pitch,
                          .y = offset % l->slice / l->pitch,
                          .z = offset / l->slice};
    if ((k->height > 1 && pitch != l->pitch) || (k->depth > 1 && slice != l->slice)) return false;
    return within(out->x, k->width_bytes, (uint64_t)l->width * a->as.element_bytes) &&
           within(out->y, k->height, l->height) && within(out->z, k->depth, l->depth);
}

bool cuda_array_touched(const struct dev_space *s, const struct dev_copy *k) {
    return s->arrays.count && (cuda_array_find(s, k->dst) || cuda_array_find(s, k->src));
}

int cuda_array_check(const struct dev_space *s, const struct dev_copy *k, uint64_t addr,
                     uint64_t pitch, uint64_t slice) {
    const struct array *a = s->arrays.count ? cuda_array_find(s, addr) : NULL;
    struct place at;
    if (!a) return -ENOENT;
    return locate(a, k, addr, pitch, slice, &at) ? 0 : ERR_ILLEGAL_ADDRESS;
}

/* The array may have been freed since the check. A single row has no pitch. */
static int place(const struct dev_space *s, const struct dev_copy *k, uint64_t addr, uint64_t pitch,
                 uint64_t slice, struct place *out) {
    const struct array *a = cuda_array_find(s, addr);
    if (a) return locate(a, k, addr, pitch, slice, out) ? 0 : ERR_ILLEGAL_ADDRESS;
    if (k->height == 1) pitch = k->depth == 1 ? k->width_bytes : slice;
    *out = (struct place){.addr = addr, .pitch = pitch, .rows = pitch ? slice / pitch : 0};
    return 0;
}

static CUmemorytype type_of(const struct place *p) {
    return p->array ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_UNIFIED;
}

static CUDA_MEMCPY3D as_copy(const struct place *dst, const struct place *src,
                             const struct dev_copy *k) {
    return (CUDA_MEMCPY3D){.srcMemoryType = type_of(src),
                           .srcArray = src->array,
                           .srcXInBytes = src->x,
                           .srcY = src->y,
                           .srcZ = src->z,
                           .srcDevice = src->addr,
                           .srcPitch = src->pitch,
                           .srcHeight = src->rows,
                           .dstMemoryType = type_of(dst),
                           .dstArray = dst->array,
                           .dstXInBytes = dst->x,
                           .dstY = dst->y,
                           .dstZ = dst->z,
                           .dstDevice = dst->addr,
                           .dstPitch = dst->pitch,
                           .dstHeight = dst->rows,
                           .WidthInBytes = k->width_bytes,
                           .Height = k->height,
                           .Depth = k->depth};
}

/* One call needs slices of whole rows. */
static bool in_one_call(const struct dev_copy *k) {
    if (k->depth == 1 || k->height == 1) return true;
    return k->src_slice % k->src_pitch == 0 && k->dst_slice % k->dst_pitch == 0;
}

static int copy_box(const struct dev_space *s, CUstream stream, const struct dev_copy *k) {
    struct place dst, src;
    int err = place(s, k, k->dst, k->dst_pitch, k->dst_slice, &dst);
    if (!err) err = place(s, k, k->src, k->src_pitch, k->src_slice, &src);
    if (err) return err;
    const CUDA_MEMCPY3D copy = as_copy(&dst, &src, k);
    return result(s, driver_of(s)->cuMemcpy3DAsync_v2(&copy, stream));
}

int cuda_array_copy(const struct dev_space *s, CUstream stream, const struct dev_copy *k) {
    if (!k->width_bytes || !k->height || !k->depth) return 0;
    if (in_one_call(k)) return copy_box(s, stream, k);
    int err = 0;
    struct dev_copy slice = *k;
    slice.depth = 1;
    for (uint64_t i = 0; !err && i < k->depth; i++) {
        err = copy_box(s, stream, &slice);
        slice.dst += k->dst_slice;
        slice.src += k->src_slice;
    }
    return err;
}
