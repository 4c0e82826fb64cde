/* SPDX-License-Identifier: Apache-2.0
 *
 * Fills of memory, each one record. On device memory CUDA does not wait, in either form.
 */
#include "proto/gen/prototypes.h"
#include "shim/capture/capture_send.h"
#include "shim/connection/submit.h"
#include "shim/connection/wait.h"
#include "shim/context/ctx.h"
#include "shim/context/stream.h"
#include "shim/memory/identity.h"
#include "shim/transfer/fill.h"

static CUresult fill(struct fill f, CUstream hStream, bool async) {
    CUresult r = ctx_enter();
    if (r) return r;
    struct stream *s = stream_find(hStream);
    if (!s) return CUDA_ERROR_INVALID_HANDLE;
    if (f.width == 0 || f.height == 0) return CUDA_SUCCESS;
    r = fill_check(&f);
    if (r) return r;
    if (stream_captured(s)) return async ? capture_send_fill(s, &f) : capture_refuse(s);
    struct wire_memset rec = fill_record(&f);
    rec.rec.stream = s->id;
    uint64_t seq;
    r = submit_ordered(&rec, sizeof(rec), NULL, 0, &seq);
    /* The program may read host memory right after the synchronous form, and SYNC_MEMOPS requires
     * the same. */
    bool seen = conn_in_host(&state.conn, f.dst) || ctx_synchronizes() || identity_sync(f.dst);
    if (!r && !async && seen) r = wait_stream(s->id, seq);
    return r;
}

/* Defines the forms of one element type: legacy stream, the thread's own stream, any stream;
 * pitched rows. */
#define FILLS(bits, type, name)                                                             \
    CUresult cuMemsetD##bits##_v2(CUdeviceptr dstDevice, type name, size_t N) {             \
        return fill((struct fill){dstDevice, 0, N, 1, name, sizeof(type)}, NULL, false);    \
    }                                                                                       \
    CUresult cuMemsetD##bits##_v2_ptds(CUdeviceptr dstDevice, type name, size_t N) {        \
        struct fill f = {dstDevice, 0, N, 1, name, sizeof(type)};                           \
        return fill(f, CU_STREAM_PER_THREAD, false);                                        \
    }                                                                                       \
    CUresult cuMemsetD##bits##Async(CUdeviceptr dstDevice, type name, size_t N,             \
                                    CUstream hStream) {                                     \
        return fill((struct fill){dstDevice, 0, N, 1, name, sizeof(type)}, hStream, true);  \
    }                                                                                       \
    CUresult cuMemsetD2D##bits##_v2(CUdeviceptr dstDevice, size_t dstPitch, type name,      \
                                    size_t Width, size_t Height) {                          \
        struct fill f = {dstDevice, dstPitch, Width, Height, name, sizeof(type)};           \
        return fill(f, NULL, false);                                                        \
    }                                                                                       \
    CUresult cuMemsetD2D##bits##_v2_ptds(CUdeviceptr dstDevice, size_t dstPitch, type name, \
                                         size_t Width, size_t Height) {                     \
        struct fill f = {dstDevice, dstPitch, Width, Height, name, sizeof(type)};           \
        return fill(f, CU_STREAM_PER_THREAD, false);                                        \
    }                                                                                       \
    CUresult cuMemsetD2D##bits##Async(CUdeviceptr dstDevice, size_t dstPitch, type name,    \
                                      size_t Width, size_t Height, CUstream hStream) {      \
        struct fill f = {dstDevice, dstPitch, Width, Height, name, sizeof(type)};           \
        return fill(f, hStream, true);                                                      \
    }

FILLS(8, unsigned char, uc)
FILLS(16, unsigned short, us)
FILLS(32, unsigned int, ui)
