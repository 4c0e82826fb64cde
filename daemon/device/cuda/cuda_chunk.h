/* SPDX-License-Identifier: Apache-2.0
 *
 * Physical memory of a GPU: pieces of one size, each of which the driver maps whole or not at all
 * (cuMemMap takes no part of one). Each is also shown at an address of the worker's own, where it
 * is filled and copied, whoever else it is shown to. What was made is kept for the next who wants
 * one, and is cleared when it is first shown to a space: on a stream of its own, for which streams
 * that may touch it wait, and the worker does not.
 *
 * Owner: the device. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_CUDA_CUDA_CHUNK_H
#define DAEMON_DEVICE_CUDA_CUDA_CHUNK_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/cuda/context.h"

struct dev_chunk {
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address; /* the worker's own */
    bool foreign;        /* somebody's bytes are in it, who had it before: nobody has seen it */
    uint64_t clear;      /* the number of the clear that it was last in */
    struct dev_chunk *next_free;
};

struct chunks {
    struct context *context;
    CUstream stream;   /* copies of whole chunks, that the worker waits for */
    CUstream clearing; /* clears, that it does not wait for */
    CUevent cleared;   /* from that one to the other; NULL: was never needed */
    uint64_t clears;   /* the latest that was begun */
    uint64_t settled;  /* one that is complete, as all before it */
    uint64_t granule;
    uint64_t limit, made, used; /* how many */
    CUdeviceptr window;         /* granule * limit, where they are shown to the worker */
    struct dev_chunk *list;     /* [limit], of which `made` have memory */
    struct dev_chunk *free;
    uint64_t array_bytes; /* what arrays are charged with, which are no chunks */
};

/* `bytes`: at most so much. 0, -errno or ERR_*. */
int cuda_chunk_open(struct chunks *c, struct context *context, uint64_t granule, uint64_t bytes);
void cuda_chunk_close(struct chunks *c);

/* Zero-filled, as it will be found. ERR_NO_MEMORY: all are in use, or the driver has no more. */
int cuda_chunk_create(struct chunks *c, struct dev_chunk **out);
/* Shown nowhere any more but to the worker; accepts NULL. */
void cuda_chunk_destroy(struct chunks *c, struct dev_chunk *chunk);

/* At once; `host` is granule bytes of any memory. */
int cuda_chunk_copy(struct chunks *c, struct dev_chunk *dst, const struct dev_chunk *src);
int cuda_chunk_save(struct chunks *c, void *host, const struct dev_chunk *chunk);
int cuda_chunk_load(struct chunks *c, struct dev_chunk *chunk, const void *host);
int cuda_chunk_clear(struct chunks *c, struct dev_chunk *const *chunks, uint32_t count);

/* Those among them that are foreign begin to be cleared. `*pending`: that of any may be under way.
 * 0, or what the driver said: those that are not cleared are foreign still. */
int cuda_chunk_begin_clear(struct chunks *c, struct dev_chunk *const *chunks, uint32_t count,
                           bool *pending);
/* Whether the clear of this number may be under way. */
bool cuda_chunk_pending(struct chunks *c, uint64_t clear);
/* `*event`, made if it is NULL, is reached when all clears that were begun are complete. */
int cuda_chunk_mark(struct chunks *c, CUevent *event);
/* What comes on the stream comes behind that; where the driver refuses, waits. 0 or
 * ERR_DEVICE_LOST. */
int cuda_chunk_follow(struct chunks *c, CUevent event, CUstream stream);
/* All clears that were begun are complete: waits. 0 or ERR_DEVICE_LOST. */
int cuda_chunk_settle(struct chunks *c);

/* The chunk is shown at `at`, for kernels and copies. */
int cuda_chunk_show(struct chunks *c, CUdeviceptr at, const struct dev_chunk *chunk);
int cuda_chunk_hide(struct chunks *c, CUdeviceptr at);
/* What is shown in this range may be read and written. */
int cuda_chunk_allow(struct chunks *c, CUdeviceptr at, uint64_t bytes);

/* How the driver is asked for one. */
CUmemAllocationProp cuda_chunk_prop(CUdevice device);

#endif
