/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of arrays.
 */
#include "shim/texture/array.h"

#include <pthread.h>
#include <string.h>

#include "common/log.h"
#include "shim/connection/refuse.h"
#include "shim/connection/state.h"
#include "shim/context/ctx.h"
#include "shim/context/stream.h"
#include "shim/device/device_view.h"
#include "shim/handle.h"
#include "shim/lock.h"
#include "shim/memory/mem.h"
#include "shim/memory/pool.h"
#include "shim/texture/opaque.h"

#define FACES 6u

static struct table arrays = {.bytes = sizeof(struct array)};
static pthread_mutex_t array_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- checks ---------------------------------------------------------------------------------- */

#define SUPPORTED                                                                            \
    ((unsigned int)CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP | \
     CUDA_ARRAY3D_TEXTURE_GATHER)
#define KNOWN ((unsigned int)CUDA_ARRAY3D_VIDEO_ENCODE_DECODE * 2 - 1)

#define MOST(what) CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE##what

/* `most` 0: the array has no such dimension. */
static bool within(size_t size, CUdevice_attribute most) {
    return size <= (most ? (size_t)device_view(most) : 0) && size <= ARRAY_LAYOUT_SIDE_MAX;
}

static bool faces_ok(const CUDA_ARRAY3D_DESCRIPTOR *d, bool layers) {
    CUdevice_attribute side = layers ? MOST(CUBEMAP_LAYERED_WIDTH) : MOST(CUBEMAP_WIDTH);
    if (!within(d->Width, side) || !within(d->Height, side)) return false;
    return layers ? within(d->Depth, MOST(CUBEMAP_LAYERED_LAYERS)) : d->Depth <= FACES;
}

/* Checks the size against the limits of the array's type. */
static bool size_ok(const CUDA_ARRAY3D_DESCRIPTOR *d) {
    static const struct {
        CUdevice_attribute width, height, depth;
    } limits[] = {
        {MOST(1D_WIDTH), 0, 0},
        {MOST(2D_WIDTH), MOST(2D_HEIGHT), 0},
        {MOST(3D_WIDTH), MOST(3D_HEIGHT), MOST(3D_DEPTH)},
        {MOST(3D_WIDTH_ALTERNATE), MOST(3D_HEIGHT_ALTERNATE), MOST(3D_DEPTH_ALTERNATE)},
        {MOST(1D_LAYERED_WIDTH), 0, MOST(1D_LAYERED_LAYERS)},
        {MOST(2D_LAYERED_WIDTH), MOST(2D_LAYERED_HEIGHT), MOST(2D_LAYERED_LAYERS)},
    };
    bool layers = d->Flags & CUDA_ARRAY3D_LAYERED, cube = d->Flags & CUDA_ARRAY3D_CUBEMAP;
    uint32_t first = d->Height ? (d->Depth ? 2 : 1) : 0;
    if (layers) first = d->Height ? 5 : 4;
    if (cube) return faces_ok(d, layers);
    for (uint32_t k = first; k <= first + (first == 2); k++)
        if (within(d->Width, limits[k].width) && within(d->Height, limits[k].height) &&
            within(d->Depth, limits[k].depth))
            return true;
    return false;
}

static bool shape_ok(const CUDA_ARRAY3D_DESCRIPTOR *d) {
    bool layers = d->Flags & CUDA_ARRAY3D_LAYERED, cube = d->Flags & CUDA_ARRAY3D_CUBEMAP;
    if (!d->Width || (d->Flags & ~KNOWN) || !size_ok(d)) return false;
    if (layers && !d->Depth) return false;
    if (!layers && d->Depth && !d->Height) return false;
    if (d->Flags & CUDA_ARRAY3D_TEXTURE_GATHER && (!d->Height || (d->Depth && !layers)))
        return false;
    return !cube || (d->Width == d->Height && d->Depth && d->Depth % FACES == 0);
}

static CUresult refuse(const CUDA_ARRAY3D_DESCRIPTOR *d) {
    log_warn("shim", "what=\"arrays of this kind are not supported\" format=0x%x flags=0x%x",
             (unsigned int)d->Format, d->Flags);
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* True for the formats that CUDA knows and that have no plain elements: all of them are in this
 * range. */
static bool known_format(CUarray_format f) {
    return f >= CU_AD_FORMAT_UNORM_INT_101010_2 && f < CU_AD_FORMAT_UNORM_INT8X1;
}

static CUresult check(const CUDA_ARRAY3D_DESCRIPTOR *d, struct array_element *element) {
    if (!array_layout_element(d->Format, d->NumChannels, element))
        return known_format(d->Format) ? refuse(d) : CUDA_ERROR_INVALID_VALUE;
    if (!shape_ok(d)) return CUDA_ERROR_INVALID_VALUE;
    return d->Flags & ~SUPPORTED ? refuse(d) : CUDA_SUCCESS;
}

/* ---- table ----------------------------------------------------------------------------------- */

static struct array *find(enum handle_kind kind, const void *handle) {
    struct array *a = table_at(&arrays, handle_index(kind, handle));
    return a && a->handle == (uint64_t)(uintptr_t)handle ? a : NULL;
}

struct array *array_find(CUarray handle) {
    return find(HANDLE_ARRAY, handle);
}

struct array *array_find_mipmapped(CUmipmappedArray handle) {
    return find(HANDLE_MIPMAP, handle);
}

/* Adds an array to the table. The caller holds the lock. */
static struct array *enlist(const struct array *content) {
    struct array *a = table_take(&arrays, TABLE_MOST);
    if (!a) refuse_more(REFUSE_ARRAYS, TABLE_MOST);
    if (!a) return NULL;
    enum handle_kind kind = content->mipmapped ? HANDLE_MIPMAP : HANDLE_ARRAY;
    struct table_item place = a->place;
    uint16_t generation = (uint16_t)(a->generation + 1);
    *a = *content;
    a->place = place;
    a->generation = generation;
    a->handle = handle_make(kind, generation, place.number);
    return a;
}

/* Removes an array from the table. The caller holds the lock. */
static void forget(struct array *a) {
    a->handle = 0;
    table_give(&arrays, a);
}

static struct array *add(const struct array *content) {
    lock_enter(&array_lock);
    struct array *a = enlist(content);
    lock_leave(&array_lock);
    return a;
}

/* Removes an array and its levels. The caller holds the lock. */
static void forget_all(struct array *a) {
    for (uint32_t k = 0; k < ARRAY_LAYOUT_LEVELS; k++)
        if (a->parts[k]) forget(table_at(&arrays, a->parts[k] - 1));
    forget(a);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static uint32_t at_least_one(size_t size) {
    return size ? (uint32_t)size : 1;
}

static CUresult take(struct array *a, uint64_t bytes) {
    if (state_has_arrays())
        return opaque_make(&a->asked, a->mipmapped ? a->levels : 0, bytes, &a->addr);
    struct mem_place place = mem_place(bytes, LEARN_NO_STREAM);
    return mem_take_device(&place, MEM_ARRAY, a->owner, 0, bytes, &a->addr);
}

static CUresult take_memory(struct array *a) {
    uint64_t bytes = array_layout_bytes(&a->shape, a->levels);
    if (bytes == UINT64_MAX) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = take(a, bytes);
    if (r == CUDA_ERROR_OUT_OF_MEMORY && pool_reclaim_all()) r = take(a, bytes);
    return mem_refused(r);
}

static void give_memory(uint64_t addr) {
    if (state_has_arrays())
        opaque_drop(addr);
    else
        mem_give(addr);
}

CUresult array_create(const CUDA_ARRAY3D_DESCRIPTOR *d, uint32_t levels, struct array **out) {
    struct array a = {.asked = *d, .owner = ctx_current()->index, .mipmapped = levels > 0};
    CUresult r = check(d, &a.element);
    if (r) return r;
    a.shape = (struct array_shape){
        .width = (uint32_t)d->Width,
        .height = at_least_one(d->Height),
        .depth = at_least_one(d->Depth),
        .element_bytes = a.element.bytes,
        .layered = d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP),
    };
    uint32_t most = array_layout_levels(&a.shape);
    a.levels = levels == 0 ? 1 : levels < most ? levels : most;
    r = take_memory(&a);
    if (r) return r;
    *out = add(&a);
    if (*out) return CUDA_SUCCESS;
    give_memory(a.addr);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult array_destroy(struct array *a) {
    if (a->whole) return CUDA_ERROR_INVALID_HANDLE; /* it ends with its mipmapped array */
    CUresult r = stream_drain();
    if (r) return r;
    uint64_t addr = a->addr;
    lock_enter(&array_lock);
    forget_all(a);
    lock_leave(&array_lock);
    give_memory(addr);
    return CUDA_SUCCESS;
}

static size_t halved(size_t size, uint32_t level) {
    return !size || size >> level ? size >> level : 1;
}

CUresult array_part(struct array *a, uint32_t level, CUarray *out) {
    if (level >= a->levels) return CUDA_ERROR_INVALID_VALUE;
    struct array part = *a;
    part.mipmapped = false;
    part.level = level;
    part.whole = a;
    memset(part.parts, 0, sizeof(part.parts));
    part.asked.Width = halved(part.asked.Width, level);
    part.asked.Height = halved(part.asked.Height, level);
    if (!part.shape.layered) part.asked.Depth = halved(part.asked.Depth, level);
    lock_enter(&array_lock);
    struct array *made = a->parts[level] ? table_at(&arrays, a->parts[level] - 1) : enlist(&part);
    if (made) a->parts[level] = made->place.number + 1;
    lock_leave(&array_lock);
    if (!made) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = (CUarray)(uintptr_t)made->handle;
    return CUDA_SUCCESS;
}

struct array_level array_place(const struct array *a) {
    struct array_level l;
    array_layout_level(&a->shape, a->level, &l);
    return l;
}

/* Removes the context's array. Returns its address, or 0 for a level, whose memory belongs to the
 * mipmapped array, and for arrays of other contexts. */
static uint64_t release(struct array *a, uint32_t owner) {
    uint64_t addr = 0;
    lock_enter(&array_lock);
    if (a->handle && a->owner == owner) {
        addr = a->whole ? 0 : a->addr;
        forget(a);
    }
    lock_leave(&array_lock);
    return addr;
}

void array_release(uint32_t owner) {
    uint32_t limit = atom_load_acquire(&arrays.limit);
    for (uint32_t k = 0; k < limit; k++) {
        uint64_t addr = release(table_at(&arrays, k), owner);
        if (addr && state_has_arrays()) opaque_drop(addr);
    }
}
