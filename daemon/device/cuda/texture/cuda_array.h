/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA arrays, whose place and layout the driver chooses. A client names one by the addresses in
 * its window where it would lie in rows. Such addresses of a copy or a texture are translated here
 * into level, slice, row and column.
 *
 * Owner: the client's space. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_CUDA_TEXTURE_CUDA_ARRAY_H
#define DAEMON_DEVICE_CUDA_TEXTURE_CUDA_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"
#include "daemon/device/cuda/memory/cuda_space.h"
#include "daemon/device/device.h"
#include "daemon/device/device_arrays.h"
#include "daemon/device/device_textures.h"

struct array {
    struct dev_array as;
    CUmipmappedArray mipmapped; /* has the levels; NULL: there is a single one */
    CUarray levels[DEV_TEXTURE_LEVELS];
    struct list textures;
};

int cuda_array_create(struct dev_space *s, const struct dev_array *as);
/* Frees an array that no texture uses any more. */
void cuda_array_destroy(struct dev_space *s, struct array *a);

/* The array with this address, or NULL. */
struct array *cuda_array_find(const struct dev_space *s, uint64_t addr);

/* The driver's description: the array's elements, and its dimensions on this level. */
CUDA_ARRAY3D_DESCRIPTOR cuda_array_describe(const struct dev_array *as, uint32_t level);

/* True when a side of the copy is in an array. */
bool cuda_array_touched(const struct dev_space *s, const struct dev_copy *k);
/* Checks a side of a copy: ERR_ILLEGAL_ADDRESS unless it lies in one level of its array; -ENOENT:
 * it is in no array. */
int cuda_array_check(const struct dev_space *s, const struct dev_copy *k, uint64_t addr,
                     uint64_t pitch, uint64_t slice);
/* Puts a copy with a side in an array into the stream. 0, -errno or ERR_*. */
int cuda_array_copy(const struct dev_space *s, CUstream stream, const struct dev_copy *k);

#endif
