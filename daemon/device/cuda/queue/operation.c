/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches, copies, fills.
 */
#include "daemon/device/cuda/queue/operation.h"

#include <errno.h>

#include "common/err.h"
#include "daemon/device/cuda/texture/cuda_array.h"

/* ---- launches -------------------------------------------------------------------------------- */

static unsigned int attributes(const struct dev_launch *l, CUlaunchAttribute *attrs) {
    unsigned int count = 0;
    if (l->cooperative)
        attrs[count++] =
            (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
    if (l->cluster[0]) {
        attrs[count] = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
        attrs[count].value.clusterDim.x = l->cluster[0];
        attrs[count].value.clusterDim.y = l->cluster[1];
        attrs[count++].value.clusterDim.z = l->cluster[2];
    }
    return count;
}

int operation_launch_as(struct context *c, CUstream stream, const struct dev_launch *l,
                        CUfunction handle) {
    CUlaunchAttribute attrs[2];
    size_t bytes = l->param_bytes;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, (void *)(uintptr_t)l->params,
                     CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    CUlaunchConfig config = {.gridDimX = l->grid[0],
                             .gridDimY = l->grid[1],
                             .gridDimZ = l->grid[2],
                             .blockDimX = l->block[0],
                             .blockDimY = l->block[1],
                             .blockDimZ = l->block[2],
                             .sharedMemBytes = l->shared_bytes,
                             .hStream = stream,
                             .attrs = attrs,
                             .numAttrs = attributes(l, attrs)};
    return context_result(c, c->driver.cuLaunchKernelEx(&config, handle, NULL, extra));
}

int operation_launch(struct context *c, CUstream stream, const struct dev_launch *l) {
    int err = cuda_func_allow_shared(l->func, l->shared_bytes);
    return err ? err : operation_launch_as(c, stream, l, l->func->handle);
}

/* ---- copies ---------------------------------------------------------------------------------- */

static CUresult copy_rows(const struct driver *d, CUstream stream, const struct dev_copy *k,
                          uint64_t slice) {
    uint64_t dst = k->dst + slice * k->dst_slice, src = k->src + slice * k->src_slice;
    if (k->height <= 1) return d->cuMemcpyAsync(dst, src, k->width_bytes, stream);
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                          .srcDevice = src,
                          .srcPitch = k->src_pitch,
                          .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                          .dstDevice = dst,
                          .dstPitch = k->dst_pitch,
                          .WidthInBytes = k->width_bytes,
                          .Height = k->height};
    return d->cuMemcpy2DAsync_v2(&copy, stream);
}

static int copy_at_once(const struct dev_space *s, CUstream stream, const struct dev_copy *k) {
    struct context *c = s->chunks->context;
    CUresult r = CUDA_SUCCESS;
    if (cuda_array_touched(s, k)) return cuda_array_copy(s, stream, k);
    for (uint64_t i = 0; !r && i < k->depth; i++)
        r = copy_rows(&c->driver, stream, k, i);
    return context_result(c, r);
}

static uint64_t extent(const struct dev_copy *k, uint64_t pitch, uint64_t slice) {
    return (k->depth - 1) * slice + (k->height - 1) * pitch + k->width_bytes;
}

static bool fits(const struct dev_space *s, const struct dev_copy *k) {
    return extent(k, k->dst_pitch, k->dst_slice) <= cuda_space_room(s, k->dst) &&
           extent(k, k->src_pitch, k->src_slice) <= cuda_space_room(s, k->src);
}

/* Takes a part off the beginning that is nearer to fitting one call: half of the slices or rows, or
 * the fitting part of a row. */
static struct dev_copy split(const struct dev_space *s, struct dev_copy *left) {
    struct dev_copy part = *left;
    uint64_t dst, src;
    if (left->depth > 1) {
        left->depth -= part.depth = left->depth / 2;
        dst = part.depth * left->dst_slice, src = part.depth * left->src_slice;
    } else if (left->height > 1) {
        left->height -= part.height = left->height / 2;
        dst = part.height * left->dst_pitch, src = part.height * left->src_pitch;
    } else {
        uint64_t to = cuda_space_room(s, left->dst), from = cuda_space_room(s, left->src);
        left->width_bytes -= dst = src = part.width_bytes = to < from ? to : from;
    }
    left->dst += dst;
    left->src += src;
    return part;
}

int operation_copy(const struct dev_space *s, CUstream stream, const struct dev_copy *k) {
    struct dev_copy left = *k;
    int err = 0;
    if (!k->width_bytes || !k->height || !k->depth) return 0;
    while (!err && !fits(s, &left)) {
        const struct dev_copy part = split(s, &left);
        err = operation_copy(s, stream, &part);
    }
    return err ? err : copy_at_once(s, stream, &left);
}

/* The worker checked the whole extent against the windows; here each row is looked up. */
static int check_rows(const struct dev_space *s, uint64_t base, uint64_t width, uint64_t rows,
                      uint64_t pitch, uint64_t *addr) {
    for (uint64_t i = 0; i < rows; i++) {
        *addr = base + i * pitch;
        if (!cuda_space_has(s, *addr, width)) return ERR_ILLEGAL_ADDRESS;
    }
    return 0;
}

/* Checks all at once if the extent is backed, which is the usual case. */
static int check_box(const struct dev_space *s, uint64_t base, const struct dev_copy *k,
                     uint64_t pitch, uint64_t slice, uint64_t *addr) {
    if (!k->width_bytes || !k->height || !k->depth) return 0;
    int err = cuda_array_check(s, k, base, pitch, slice);
    *addr = base;
    if (err != -ENOENT) return err;
    err = 0;
    uint64_t extent = (k->depth - 1) * slice + (k->height - 1) * pitch + k->width_bytes;
    if (cuda_space_has(s, base, extent)) return 0;
    for (uint64_t i = 0; !err && i < k->depth; i++)
        err = check_rows(s, base + i * slice, k->width_bytes, k->height, pitch, addr);
    return err;
}

int operation_check_copy(const struct dev_space *s, const struct dev_copy *k, uint64_t *addr) {
    int err = 0;
    if (!k->from_caller) err = check_box(s, k->src, k, k->src_pitch, k->src_slice, addr);
    return err ? err : check_box(s, k->dst, k, k->dst_pitch, k->dst_slice, addr);
}

/* ---- fills ----------------------------------------------------------------------------------- */

static CUresult fill_row(const struct driver *d, CUstream stream, uint64_t at, uint64_t elems,
                         const struct dev_memset *m) {
    switch (m->elem_bytes) {
    case 1: return d->cuMemsetD8Async(at, (unsigned char)m->value, elems, stream);
    case 2: return d->cuMemsetD16Async(at, (unsigned short)m->value, elems, stream);
    default: return d->cuMemsetD32Async(at, (unsigned int)m->value, elems, stream);
    }
}

static CUresult fill_rows(const struct driver *d, CUstream stream, const struct dev_memset *m) {
    switch (m->elem_bytes) {
    case 1:
        return d->cuMemsetD2D8Async(m->dst, m->pitch, (unsigned char)m->value, m->width_elems,
                                    m->height, stream);
    case 2:
        return d->cuMemsetD2D16Async(m->dst, m->pitch, (unsigned short)m->value, m->width_elems,
                                     m->height, stream);
    default:
        return d->cuMemsetD2D32Async(m->dst, m->pitch, (unsigned int)m->value, m->width_elems,
                                     m->height, stream);
    }
}

/* The driver fills with at most 4 bytes, so the two halves are filled as columns. */
static CUresult fill_wide(const struct driver *d, CUstream stream, const struct dev_memset *m) {
    CUresult r = CUDA_SUCCESS;
    for (uint64_t row = 0; !r && row < m->height; row++) {
        uint64_t at = m->dst + row * m->pitch;
        r = d->cuMemsetD2D32Async(at, 8, (unsigned int)m->value, 1, m->width_elems, stream);
        if (!r)
            r = d->cuMemsetD2D32Async(at + 4, 8, (unsigned int)(m->value >> 32), 1, m->width_elems,
                                      stream);
    }
    return r;
}

static int fill_at_once(struct context *c, CUstream stream, const struct dev_memset *m) {
    const struct driver *d = &c->driver;
    if (m->elem_bytes == 8) return context_result(c, fill_wide(d, stream, m));
    if (m->height == 1) return context_result(c, fill_row(d, stream, m->dst, m->width_elems, m));
    return context_result(c, fill_rows(d, stream, m));
}

/* Splits as split() does. */
static struct dev_memset split_fill(const struct dev_space *s, struct dev_memset *left) {
    struct dev_memset part = *left;
    if (left->height > 1) {
        left->height -= part.height = left->height / 2;
        left->dst += part.height * left->pitch;
    } else {
        left->width_elems -= part.width_elems = cuda_space_room(s, left->dst) / left->elem_bytes;
        left->dst += part.width_elems * left->elem_bytes;
    }
    return part;
}

int operation_memset(const struct dev_space *s, CUstream stream, const struct dev_memset *m) {
    struct dev_memset left = *m;
    int err = 0;
    if (!m->width_elems || !m->height) return 0;
    while (!err && (left.height - 1) * left.pitch + left.width_elems * left.elem_bytes >
                       cuda_space_room(s, left.dst)) {
        const struct dev_memset part = split_fill(s, &left);
        err = operation_memset(s, stream, &part);
    }
    return err ? err : fill_at_once(s->chunks->context, stream, &left);
}

int operation_check_memset(const struct dev_space *s, const struct dev_memset *m, uint64_t *addr) {
    uint64_t width = m->width_elems * m->elem_bytes;
    if (!width || !m->height) return 0;
    if (cuda_space_has(s, m->dst, (m->height - 1) * m->pitch + width)) return 0;
    return check_rows(s, m->dst, width, m->height, m->pitch, addr);
}
