/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA arrays, which the driver puts where and lays out how it likes. A client names one by the
 * addresses in its window where it would lie in rows: what a copy or a texture says of these is
 * translated here into level, slice, row and column.
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
    CUmipmappedArray mipmapped; /* that the levels are of; NULL: there is one, by itself */
    CUarray levels[DEV_TEXTURE_LEVELS];
    struct list textures;
};

int cuda_array_create(struct dev_space *s, const struct dev_array *as);
/* Nothing shows it any more. */
void cuda_array_destroy(struct dev_space *s, struct array *a);

/* The one that this address is of; NULL. */
struct array *cuda_array_find(const struct dev_space *s, uint64_t addr);

/* As the driver describes what is asked for: the array's elements, its dimensions on this level. */
CUDA_ARRAY3D_DESCRIPTOR cuda_array_describe(const struct dev_array *as, uint32_t level);

/* Whether a side of it is of an array. */
bool cuda_array_touched(const struct dev_space *s, const struct dev_copy *k);
/* A side of a copy: ERR_ILLEGAL_ADDRESS unless it lies in one level of its array; -ENOENT: it has
 * none. */
int cuda_array_check(const struct dev_space *s, const struct dev_copy *k, uint64_t addr,
                     uint64_t pitch, uint64_t slice);
/* A copy of which a side is of an array, into the stream. 0, -errno or ERR_*. */
int cuda_array_copy(const struct dev_space *s, CUstream stream, const struct dev_copy *k);

#endif
