/* SPDX-License-Identifier: Apache-2.0
 *
 * Physical memory of a GPU: pieces of one size, each of which the driver maps whole or not at all
 * (cuMemMap takes no part of one). What the worker itself fills or copies is also shown at an
 * address of its own, from the first time on, whoever else it is shown to. What was made is kept
 * for the next who wants one, and is cleared when it is first shown to a space: on a stream of its
 * own, for which streams that may touch it wait, and the worker does not.
 *
 * Who keeps a descriptor of a chunk keeps its memory (dev_config.keep). A device that is opened on
 * such descriptors takes what it has of these when somebody adopts it, or wants a chunk. Whose
 * bytes are in it stands in the file of cuda_lasting.h: a clear that was begun may never have come
 * to its end.
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
    CUdeviceptr address; /* the worker's own */
    int fd;              /* of memory that an earlier process made, until it is taken; 0: none */
    bool made;           /* it has memory */
    bool seen;           /* which the worker sees at `address` */
    bool kept;           /* which outlives the process */
    bool used, promised; /* somebody has it; it is for who adopts it */
    bool foreign;        /* somebody's bytes are in it, who had it before: nobody has seen it */
    uint64_t clear;      /* the number of the clear that it was last in */
    struct dev_chunk *next_free;
};

struct chunks {
    struct context *context;
    CUstream stream;        /* copies of whole chunks, that the worker waits for */
    CUstream clearing;      /* clears, that it does not wait for */
    CUevent cleared;        /* from that one to the other; NULL: was never needed */
    uint64_t clears;        /* the latest that was begun */
    uint64_t settled;       /* one that is complete, as all before it */
    uint64_t told;          /* the latest that the GPU is to say in `cleared` of the file */
    CUdeviceptr cleared_at; /* that word, as the GPU sees it */
    struct lasting *lasting;
    int (*keep)(void *arg, uint64_t id, int fd); /* as dev_config has them */
    void *keep_arg;
    uint64_t granule;
    uint64_t limit, used;   /* how many */
    uint64_t fresh;         /* those from here on were never made or free */
    CUdeviceptr window;     /* granule * limit, where they are shown to the worker */
    struct dev_chunk *list; /* [limit] */
    struct dev_chunk *free;
    bool old;             /* what nobody has may be somebody's: until it is settled */
    uint64_t array_bytes; /* what arrays are charged with, which are no chunks */
};

/* As many as `lasting` is of; what the configuration has of them is not in use. 0, -errno or
 * ERR_*. */
int cuda_chunk_open(struct chunks *c, struct context *context, struct lasting *lasting,
                    const struct dev_config *config);
void cuda_chunk_close(struct chunks *c);

/* Zero-filled, as it will be found. ERR_NO_MEMORY: all are in use, or the driver has no more;
 * -EBUSY: nothing is settled yet. */
int cuda_chunk_create(struct chunks *c, struct dev_chunk **out);
/* Shown nowhere any more but to the worker; accepts NULL. */
void cuda_chunk_destroy(struct chunks *c, struct dev_chunk *chunk);

/* As dev_ops has them. */
uint64_t cuda_chunk_id(const struct chunks *c, const struct dev_chunk *chunk);
int cuda_chunk_adopt(struct chunks *c, uint64_t id, struct dev_chunk **out);
int cuda_chunk_promise(struct chunks *c, uint64_t id);
void cuda_chunk_renounce(struct chunks *c, uint64_t id);
/* What nobody adopted is free. */
void cuda_chunk_free_rest(struct chunks *c);

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
