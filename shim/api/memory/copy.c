/* SPDX-License-Identifier: Apache-2.0
 *
 * The copy calls: each defines its two places and the stream that orders it. The forms without a
 * stream use the legacy default stream, or the thread's own stream in programs that were built for
 * that (_ptds).
 */
#include "shim/api/memory/copy.h"

#include "proto/gen/prototypes.h"
#include "shim/capture/capture_send.h"
#include "shim/context/ctx.h"
#include "shim/context/stream.h"
#include "shim/texture/array.h"

static CUresult run(const struct transfer *t, CUstream hStream, unsigned int flags) {
    struct stream *s = stream_find(hStream);
    if (!s) return CUDA_ERROR_INVALID_HANDLE;
    CUresult r = flags & TRANSFER_ASYNC ? CUDA_SUCCESS : capture_gate();
    if (r) return r;
    if (!stream_captured(s)) return transfer_run(t, s, flags);
    return flags & TRANSFER_ASYNC ? capture_send_copy(s, t, flags) : capture_refuse(s);
}

static CUresult plain(uint64_t dst, uint64_t src, size_t bytes, CUstream hStream,
                      unsigned int flags) {
    CUresult r = ctx_enter();
    if (r) return r;
    if (bytes > 0 && (!dst || !src)) return CUDA_ERROR_INVALID_VALUE;
    struct transfer t = {.dst = dst, .src = src, .width = bytes, .height = 1, .depth = 1};
    return run(&t, hStream, flags);
}

static uint64_t of(const void *p) {
    return (uint64_t)(uintptr_t)p;
}

/* ---- one dimension --------------------------------------------------------------------------- */

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount) {
    return plain(dst, src, ByteCount, NULL, 0);
}

CUresult cuMemcpy_ptds(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount) {
    return plain(dst, src, ByteCount, CU_STREAM_PER_THREAD, 0);
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream) {
    return plain(dst, src, ByteCount, hStream, TRANSFER_ASYNC);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount) {
    return plain(dstDevice, of(srcHost), ByteCount, NULL, TRANSFER_DST_DEVICE);
}

CUresult cuMemcpyHtoD_v2_ptds(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount) {
    return plain(dstDevice, of(srcHost), ByteCount, CU_STREAM_PER_THREAD, TRANSFER_DST_DEVICE);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount,
                              CUstream hStream) {
    return plain(dstDevice, of(srcHost), ByteCount, hStream, TRANSFER_DST_DEVICE | TRANSFER_ASYNC);
}

CUresult cuMemcpyDtoH_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount) {
    return plain(of(dstHost), srcDevice, ByteCount, NULL, TRANSFER_SRC_DEVICE);
}

CUresult cuMemcpyDtoH_v2_ptds(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount) {
    return plain(of(dstHost), srcDevice, ByteCount, CU_STREAM_PER_THREAD, TRANSFER_SRC_DEVICE);
}

CUresult cuMemcpyDtoHAsync_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                              CUstream hStream) {
    return plain(of(dstHost), srcDevice, ByteCount, hStream, TRANSFER_SRC_DEVICE | TRANSFER_ASYNC);
}

#define BOTH_DEVICE (TRANSFER_SRC_DEVICE | TRANSFER_DST_DEVICE)

CUresult cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount) {
    return plain(dstDevice, srcDevice, ByteCount, NULL, BOTH_DEVICE);
}

CUresult cuMemcpyDtoD_v2_ptds(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount) {
    return plain(dstDevice, srcDevice, ByteCount, CU_STREAM_PER_THREAD, BOTH_DEVICE);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount,
                              CUstream hStream) {
    return plain(dstDevice, srcDevice, ByteCount, hStream, BOTH_DEVICE | TRANSFER_ASYNC);
}

/* Copies between contexts: there is one device, so they share their addresses. */
static CUresult peer(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx,
                     size_t bytes, CUstream hStream, unsigned int flags) {
    CUresult r = ctx_enter();
    if (r) return r;
    if (!ctx_find(dst_ctx) || !ctx_find(src_ctx)) return CUDA_ERROR_INVALID_CONTEXT;
    return plain(dst, src, bytes, hStream, BOTH_DEVICE | flags);
}

CUresult cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                      CUcontext srcContext, size_t ByteCount) {
    return peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, NULL, 0);
}

CUresult cuMemcpyPeer_ptds(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                           CUcontext srcContext, size_t ByteCount) {
    return peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, CU_STREAM_PER_THREAD, 0);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                           CUcontext srcContext, size_t ByteCount, CUstream hStream) {
    return peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream, TRANSFER_ASYNC);
}

/* ---- two and three dimensions ---------------------------------------------------------------- */

/* One side of a pitched copy, with the position of its first byte. */
struct side {
    CUmemorytype type;
    uint64_t host, device;
    CUarray array;
    uint64_t x, y, z, pitch, height;
};

static bool within(uint64_t first, uint64_t count, uint64_t all) {
    return first <= all && count <= all - first;
}

/* Finds the addresses of a box in an array; all of the box must lie in the array. */
static CUresult place_in_array(const struct side *s, uint64_t width, uint64_t rows, uint64_t slices,
                               uint64_t *addr, uint64_t *pitch, uint64_t *slice) {
    const struct array *a = array_find(s->array);
    if (!a) return CUDA_ERROR_INVALID_HANDLE;
    const struct array_level l = array_place(a);
    if (!within(s->x, width, (uint64_t)l.width * a->element.bytes) ||
        !within(s->y, rows, l.height) || !within(s->z, slices, l.depth))
        return CUDA_ERROR_INVALID_VALUE;
    if ((s->x | width) % a->element.bytes) return CUDA_ERROR_INVALID_VALUE;
    *pitch = l.pitch;
    *slice = l.slice;
    *addr = a->addr + l.offset + s->z * l.slice + s->y * l.pitch + s->x;
    return CUDA_SUCCESS;
}

static CUresult place(const struct side *s, uint64_t width, uint64_t rows, uint64_t slices,
                      uint64_t *addr, uint64_t *pitch, uint64_t *slice) {
    uint64_t end, base, y_offset, z_offset;
    if (s->type == CU_MEMORYTYPE_ARRAY)
        return place_in_array(s, width, rows, slices, addr, pitch, slice);
    if (s->type != CU_MEMORYTYPE_HOST && s->type != CU_MEMORYTYPE_DEVICE &&
        s->type != CU_MEMORYTYPE_UNIFIED)
        return CUDA_ERROR_INVALID_VALUE;
    base = s->type == CU_MEMORYTYPE_HOST ? s->host : s->device;
    if (!base || __builtin_add_overflow(s->x, width, &end)) return CUDA_ERROR_INVALID_VALUE;
    *pitch = s->pitch ? s->pitch : end;
    if (*pitch < end) return CUDA_ERROR_INVALID_VALUE;
    uint64_t height = s->height ? s->height : s->y + rows;
    if (height < rows || __builtin_mul_overflow(*pitch, height, slice) ||
        __builtin_mul_overflow(s->y, *pitch, &y_offset) ||
        __builtin_mul_overflow(s->z, *slice, &z_offset))
        return CUDA_ERROR_INVALID_VALUE;
    *addr = base + z_offset + y_offset + s->x;
    return CUDA_SUCCESS;
}

static unsigned int must_be_device(CUmemorytype type, unsigned int flag) {
    return type == CU_MEMORYTYPE_DEVICE ? flag : 0;
}

static CUresult describe(const struct side *dst, const struct side *src, uint64_t width,
                         uint64_t height, uint64_t depth, struct transfer *t, unsigned int *flags) {
    *t = (struct transfer){.width = width, .height = height, .depth = depth};
    if (width == 0 || height == 0 || depth == 0) return CUDA_SUCCESS;
    CUresult r = place(dst, width, height, depth, &t->dst, &t->dst_pitch, &t->dst_slice);
    if (!r) r = place(src, width, height, depth, &t->src, &t->src_pitch, &t->src_slice);
    *flags |= must_be_device(dst->type, TRANSFER_DST_DEVICE);
    *flags |= must_be_device(src->type, TRANSFER_SRC_DEVICE);
    return r;
}

static CUresult pitched(const struct side *dst, const struct side *src, uint64_t width,
                        uint64_t height, uint64_t depth, CUstream hStream, unsigned int flags) {
    struct transfer t;
    CUresult r = ctx_enter();
    if (!r) r = describe(dst, src, width, height, depth, &t, &flags);
    return r ? r : run(&t, hStream, flags);
}

static CUresult copy2d(const CUDA_MEMCPY2D *c, CUstream hStream, unsigned int flags) {
    if (!c) return CUDA_ERROR_INVALID_VALUE;
    struct side src = {.type = c->srcMemoryType,
                       .host = of(c->srcHost),
                       .device = c->srcDevice,
                       .array = c->srcArray,
                       .x = c->srcXInBytes,
                       .y = c->srcY,
                       .pitch = c->srcPitch};
    struct side dst = {.type = c->dstMemoryType,
                       .host = of(c->dstHost),
                       .device = c->dstDevice,
                       .array = c->dstArray,
                       .x = c->dstXInBytes,
                       .y = c->dstY,
                       .pitch = c->dstPitch};
    return pitched(&dst, &src, c->WidthInBytes, c->Height, 1, hStream, flags);
}

/* CUDA_MEMCPY3D and its peer form have members of the same names. */
#define SIDES_3D(c)                                                                  \
    struct side src = {                                                              \
        c->srcMemoryType, of(c->srcHost), c->srcDevice, c->srcArray, c->srcXInBytes, \
        c->srcY,          c->srcZ,        c->srcPitch,  c->srcHeight};               \
    struct side dst = {                                                              \
        c->dstMemoryType, of(c->dstHost), c->dstDevice, c->dstArray, c->dstXInBytes, \
        c->dstY,          c->dstZ,        c->dstPitch,  c->dstHeight}

static CUresult copy3d(const CUDA_MEMCPY3D *c, CUstream hStream, unsigned int flags) {
    if (!c) return CUDA_ERROR_INVALID_VALUE;
    SIDES_3D(c);
    return pitched(&dst, &src, c->WidthInBytes, c->Height, c->Depth, hStream, flags);
}

CUresult copy_describe(const CUDA_MEMCPY3D *c, struct transfer *t, unsigned int *flags) {
    SIDES_3D(c);
    return describe(&dst, &src, c->WidthInBytes, c->Height, c->Depth, t, flags);
}

static CUresult copy3d_peer(const CUDA_MEMCPY3D_PEER *c, CUstream hStream, unsigned int flags) {
    CUresult r = ctx_enter();
    if (r) return r;
    if (!c) return CUDA_ERROR_INVALID_VALUE;
    if (!ctx_find(c->srcContext) || !ctx_find(c->dstContext)) return CUDA_ERROR_INVALID_CONTEXT;
    SIDES_3D(c);
    return pitched(&dst, &src, c->WidthInBytes, c->Height, c->Depth, hStream, flags);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *pCopy) {
    return copy2d(pCopy, NULL, 0);
}

CUresult cuMemcpy2D_v2_ptds(const CUDA_MEMCPY2D *pCopy) {
    return copy2d(pCopy, CU_STREAM_PER_THREAD, 0);
}

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *pCopy) {
    return copy2d(pCopy, NULL, 0);
}

CUresult cuMemcpy2DUnaligned_v2_ptds(const CUDA_MEMCPY2D *pCopy) {
    return copy2d(pCopy, CU_STREAM_PER_THREAD, 0);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *pCopy, CUstream hStream) {
    return copy2d(pCopy, hStream, TRANSFER_ASYNC);
}

CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *pCopy) {
    return copy3d(pCopy, NULL, 0);
}

CUresult cuMemcpy3D_v2_ptds(const CUDA_MEMCPY3D *pCopy) {
    return copy3d(pCopy, CU_STREAM_PER_THREAD, 0);
}

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *pCopy, CUstream hStream) {
    return copy3d(pCopy, hStream, TRANSFER_ASYNC);
}

CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *pCopy) {
    return copy3d_peer(pCopy, NULL, 0);
}

CUresult cuMemcpy3DPeer_ptds(const CUDA_MEMCPY3D_PEER *pCopy) {
    return copy3d_peer(pCopy, CU_STREAM_PER_THREAD, 0);
}

CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream) {
    return copy3d_peer(pCopy, hStream, TRANSFER_ASYNC);
}

/* ---- arrays of one dimension ----------------------------------------------------------------- */

static struct side in_array(CUarray array, size_t offset) {
    return (struct side){.type = CU_MEMORYTYPE_ARRAY, .array = array, .x = offset};
}

static struct side on_device(CUdeviceptr device) {
    return (struct side){.type = CU_MEMORYTYPE_DEVICE, .device = device};
}

static struct side on_host(const void *host) {
    return (struct side){.type = CU_MEMORYTYPE_HOST, .host = of(host)};
}

static CUresult row(struct side dst, struct side src, size_t bytes, CUstream hStream,
                    unsigned int flags) {
    return pitched(&dst, &src, bytes, 1, 1, hStream, flags);
}

/* Defines the form without a stream, and the form for programs whose default stream is the
 * thread's. */
#define ROW_COPIES(name, dst, src, ...)                           \
    CUresult name(__VA_ARGS__, size_t ByteCount) {                \
        return row(dst, src, ByteCount, NULL, 0);                 \
    }                                                             \
    CUresult name##_ptds(__VA_ARGS__, size_t ByteCount) {         \
        return row(dst, src, ByteCount, CU_STREAM_PER_THREAD, 0); \
    }

ROW_COPIES(cuMemcpyDtoA_v2, in_array(dstArray, dstOffset), on_device(srcDevice), CUarray dstArray,
           size_t dstOffset, CUdeviceptr srcDevice)
ROW_COPIES(cuMemcpyAtoD_v2, on_device(dstDevice), in_array(srcArray, srcOffset),
           CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset)
ROW_COPIES(cuMemcpyHtoA_v2, in_array(dstArray, dstOffset), on_host(srcHost), CUarray dstArray,
           size_t dstOffset, const void *srcHost)
ROW_COPIES(cuMemcpyAtoH_v2, on_host(dstHost), in_array(srcArray, srcOffset), void *dstHost,
           CUarray srcArray, size_t srcOffset)
ROW_COPIES(cuMemcpyAtoA_v2, in_array(dstArray, dstOffset), in_array(srcArray, srcOffset),
           CUarray dstArray, size_t dstOffset, CUarray srcArray, size_t srcOffset)

CUresult cuMemcpyHtoAAsync_v2(CUarray dstArray, size_t dstOffset, const void *srcHost,
                              size_t ByteCount, CUstream hStream) {
    return row(in_array(dstArray, dstOffset), on_host(srcHost), ByteCount, hStream, TRANSFER_ASYNC);
}

CUresult cuMemcpyAtoHAsync_v2(void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount,
                              CUstream hStream) {
    return row(on_host(dstHost), in_array(srcArray, srcOffset), ByteCount, hStream, TRANSFER_ASYNC);
}
