/* SPDX-License-Identifier: Apache-2.0
 *
 * Physical memory of a GPU, in pieces of one size; the driver maps each completely or not at all
 * (cuMemMap maps no part of one). A chunk that the worker fills or copies is also mapped at an
 * address of the worker's own, from the first time on, besides its mappings in spaces. Freed chunks
 * are reused. A reused chunk is cleared when it is first mapped in a space, on a stream of its own.
 * Streams that may access it wait for the clear, and the worker does not.
 *
 * A process with a descriptor of a chunk keeps its memory (dev_config.keep). A device that is
 * opened with such descriptors imports each when it is adopted, or when a chunk is needed. The file
 * of cuda_lasting.h records whose bytes it has: a clear that was begun may never have completed.
 *
 * Owner: the device. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_CUDA_MEMORY_CUDA_CHUNK_H
#define DAEMON_DEVICE_CUDA_MEMORY_CUDA_CHUNK_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/cuda/driver/context.h"
#include "daemon/device/cuda/memory/cuda_lasting.h"

struct dev_chunk {
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address; /* the worker's own address */
    int fd;              /* memory of an earlier process, until it is imported; 0: none */
    bool made;           /* it has memory */
    bool seen;           /* mapped for the worker at `address` */
    bool kept;           /* outlives the process */
    bool used, promised; /* it is in use; it is reserved for adoption */
    bool foreign;        /* it has bytes of an earlier owner, and was not mapped since */
    uint64_t clear;      /* the number of its latest clear */
    struct dev_chunk *next_free;
};

struct chunks {
    struct context *context;
    CUstream stream;        /* copies of whole chunks, for which the worker waits */
    CUstream clearing;      /* clears, for which it does not wait */
    CUevent cleared;        /* lets `stream` wait for `clearing`; NULL: not needed yet */
    uint64_t clears;        /* the latest that was begun */
    uint64_t settled;       /* this clear and all before it are complete */
    uint64_t told;          /* the latest clear that the GPU will report in `cleared` of the file */
    CUdeviceptr cleared_at; /* the GPU's address of that word */
    struct lasting *lasting;
    int (*keep)(void *arg, uint64_t id, int fd); /* from dev_config */
    void *keep_arg;
    uint64_t granule;
    uint64_t limit, used;   /* numbers of chunks */
    uint64_t fresh;         /* chunks from here on were never made or free */
    CUdeviceptr window;     /* granule * limit bytes for the worker's own mappings */
    struct dev_chunk *list; /* [limit] */
    struct dev_chunk *free;
    bool old; /* unused chunks may belong to clients that have yet to come: until it is settled */
    uint64_t array_bytes; /* charge for arrays, which are no chunks */
};

/* Opens as many chunks as `lasting` describes; the configuration's kept ones are not in use yet. 0,
 * -errno or ERR_*. */
int cuda_chunk_open(struct chunks *c, struct context *context, struct lasting *lasting,
                    const struct dev_config *config);
void cuda_chunk_close(struct chunks *c);

/* A chunk that reads as zeros. ERR_NO_MEMORY: all are in use, or the driver has no more; -EBUSY:
 * nothing is settled yet. */
int cuda_chunk_create(struct chunks *c, struct dev_chunk **out);
/* Frees a chunk that only the worker maps; accepts NULL. */
void cuda_chunk_destroy(struct chunks *c, struct dev_chunk *chunk);

/* Implement the functions of dev_recovery_ops. */
uint64_t cuda_chunk_id(const struct chunks *c, const struct dev_chunk *chunk);
int cuda_chunk_adopt(struct chunks *c, uint64_t id, struct dev_chunk **out);
int cuda_chunk_promise(struct chunks *c, uint64_t id);
void cuda_chunk_renounce(struct chunks *c, uint64_t id);
/* Frees the chunks that were not adopted. */
void cuda_chunk_free_rest(struct chunks *c);

/* Synchronous; `host` is granule bytes of any memory. */
int cuda_chunk_copy(struct chunks *c, struct dev_chunk *dst, const struct dev_chunk *src);
int cuda_chunk_save(struct chunks *c, void *host, const struct dev_chunk *chunk);
int cuda_chunk_load(struct chunks *c, struct dev_chunk *chunk, const void *host);
int cuda_chunk_clear(struct chunks *c, struct dev_chunk *const *chunks, uint32_t count);

/* Begins to clear the foreign ones among these chunks. `*pending`: a clear of any may be in
 * progress. 0, or the driver's error: chunks that are not cleared stay foreign. */
int cuda_chunk_begin_clear(struct chunks *c, struct dev_chunk *const *chunks, uint32_t count,
                           bool *pending);
/* True when the clear of this number may be in progress. */
bool cuda_chunk_pending(struct chunks *c, uint64_t clear);
/* Records `*event`, made if it is NULL, behind all clears that were begun. */
int cuda_chunk_mark(struct chunks *c, CUevent *event);
/* Makes later work of the stream wait for the event; where the driver refuses, waits itself. 0 or
 * ERR_DEVICE_LOST. */
int cuda_chunk_follow(struct chunks *c, CUevent event, CUstream stream);
/* Waits until all clears that were begun are complete. 0 or ERR_DEVICE_LOST. */
int cuda_chunk_settle(struct chunks *c);

/* Maps the chunk at `at`, for kernels and copies; cuda_chunk_hide unmaps it. */
int cuda_chunk_show(struct chunks *c, CUdeviceptr at, const struct dev_chunk *chunk);
int cuda_chunk_hide(struct chunks *c, CUdeviceptr at);
/* Allows reads and writes of the chunks mapped in this range. */
int cuda_chunk_allow(struct chunks *c, CUdeviceptr at, uint64_t bytes);

/* The properties for creating a chunk. */
CUmemAllocationProp cuda_chunk_prop(CUdevice device);

#endif
