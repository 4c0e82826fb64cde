/* SPDX-License-Identifier: Apache-2.0
 *
 * Physical memory of a GPU: pieces of one size, each of which the driver maps whole or not at all
 * (cuMemMap takes no part of one). Each is also shown at an address of the worker's own, where it
 * is filled and copied, whoever else it is shown to. What was made is kept for the next who wants
 * one.
 *
 * Owner: the device. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_CUDA_CUDA_CHUNK_H
#define DAEMON_DEVICE_CUDA_CUDA_CHUNK_H

#include <stdint.h>

#include "daemon/device/cuda/context.h"

struct dev_chunk {
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address; /* the worker's own */
    struct dev_chunk *next_free;
};

struct chunks {
    struct context *context;
    CUstream stream; /* fills and copies of whole chunks */
    uint64_t granule;
    uint64_t limit, made, used; /* how many */
    CUdeviceptr window;         /* granule * limit, where they are shown to the worker */
    struct dev_chunk *list;     /* [limit], of which `made` have memory */
    struct dev_chunk *free;
};

/* `bytes`: at most so much. 0, -errno or ERR_*. */
int cuda_chunk_open(struct chunks *c, struct context *context, uint64_t granule, uint64_t bytes);
void cuda_chunk_close(struct chunks *c);

/* Zero-filled. ERR_NO_MEMORY: all are in use, or the driver has no more. */
int cuda_chunk_create(struct chunks *c, struct dev_chunk **out);
/* Shown nowhere any more but to the worker; accepts NULL. */
void cuda_chunk_destroy(struct chunks *c, struct dev_chunk *chunk);

/* At once; `host` is granule bytes of any memory. */
int cuda_chunk_copy(struct chunks *c, struct dev_chunk *dst, const struct dev_chunk *src);
int cuda_chunk_save(struct chunks *c, void *host, const struct dev_chunk *chunk);
int cuda_chunk_load(struct chunks *c, struct dev_chunk *chunk, const void *host);
int cuda_chunk_clear(struct chunks *c, struct dev_chunk *const *chunks, uint32_t count);

/* The chunk is shown at `at`, for kernels and copies. */
int cuda_chunk_show(struct chunks *c, CUdeviceptr at, const struct dev_chunk *chunk);
int cuda_chunk_hide(struct chunks *c, CUdeviceptr at);
/* What is shown in this range may be read and written. */
int cuda_chunk_allow(struct chunks *c, CUdeviceptr at, uint64_t bytes);

/* How the driver is asked for one. */
CUmemAllocationProp cuda_chunk_prop(CUdevice device);

#endif
