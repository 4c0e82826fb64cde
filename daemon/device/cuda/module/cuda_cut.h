/* SPDX-License-Identifier: Apache-2.0
 *
 * The second module of a client's image: its kernels as they are launched in parts
 * (daemon/device/subgrid). Only where the driver makes those of the first from PTX, too: so both
 * are by one compiler. It has no variables, and nobody but the device knows of it.
 *
 * Owner: the module that it is of. Threads: as of that (cuda_module.h).
 */
#ifndef DAEMON_DEVICE_CUDA_MODULE_CUDA_CUT_H
#define DAEMON_DEVICE_CUDA_MODULE_CUDA_CUT_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/device/cuda/driver/context.h"
#include "daemon/device/device.h"

/* A kernel of it. */
struct cuda_cut {
    CUfunction handle; /* NULL: it is not to be had in parts */
    uint32_t max_threads;
    uint32_t shared_allowed; /* dynamic shared memory that the driver was told of */
    /* Blocks of so many threads and bytes that a multiprocessor holds; 0 threads: not asked yet. */
    uint32_t threads, shared_bytes, blocks;
};

/* Beside. NULL in `*out`, and 0, where no kernel of it can be had in parts, which the log says; or
 * -ENOMEM, ERR_DEVICE_LOST. */
int cuda_cut_load(struct context *c, const void *image, size_t bytes, CUmodule *out);
void cuda_cut_unload(struct context *c, CUmodule module);

/* The same of one kernel, of which as a whole this is known. `module` may be NULL. */
int cuda_cut_find(struct context *c, CUmodule module, const char *name,
                  const struct dev_func_info *whole, struct cuda_cut *out);

/* How many blocks of it a multiprocessor holds; 0: none, or that cannot be said. Thread: the
 * worker's. */
uint32_t cuda_cut_blocks(struct context *c, struct cuda_cut *cut, uint32_t threads,
                         uint32_t shared_bytes);

#endif
