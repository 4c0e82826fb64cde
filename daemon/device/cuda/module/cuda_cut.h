/* SPDX-License-Identifier: Apache-2.0
 *
 * The second module of a client's image, with its kernels for launches in parts
 * (daemon/device/subgrid). It exists only where the driver compiles the first module from PTX, too,
 * so that one compiler makes both. It has no variables, and only the device knows of it.
 *
 * Owner: the first module. Threads: as for that (cuda_module.h).
 */
#ifndef DAEMON_DEVICE_CUDA_MODULE_CUDA_CUT_H
#define DAEMON_DEVICE_CUDA_MODULE_CUDA_CUT_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/device/cuda/driver/context.h"
#include "daemon/device/device.h"

/* A kernel of the second module. */
struct cuda_cut {
    CUfunction handle; /* NULL: it cannot be launched in parts */
    uint32_t max_threads;
    uint32_t shared_allowed; /* dynamic shared memory that the driver was told of */
    /* Blocks per multiprocessor for this block size and shared memory; 0 threads: not computed yet.
     */
    uint32_t threads, shared_bytes, blocks;
};

/* Background. 0 with NULL in `*out`: no kernel can be launched in parts, and the log says so.
 * -ENOMEM, ERR_DEVICE_LOST. */
int cuda_cut_load(struct context *c, const void *image, size_t bytes, CUmodule *out);
void cuda_cut_unload(struct context *c, CUmodule module);

/* Finds one kernel likewise; `whole` describes the complete kernel. `module` may be NULL. */
int cuda_cut_find(struct context *c, CUmodule module, const char *name,
                  const struct dev_func_info *whole, struct cuda_cut *out);

/* Number of its blocks that a multiprocessor holds; 0: none, or unknown. Thread: the worker's. */
uint32_t cuda_cut_blocks(struct context *c, struct cuda_cut *cut, uint32_t threads,
                         uint32_t shared_bytes);

#endif
