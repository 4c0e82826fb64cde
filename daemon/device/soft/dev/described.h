/* SPDX-License-Identifier: Apache-2.0
 *
 * A module that is only described by its cubin, in a space that computes nothing. Its variables
 * exist, and its kernels have the properties that the cubin gives. Owner: the module. Thread: the
 * worker's.
 */
#ifndef DAEMON_DEVICE_SOFT_DEV_DESCRIBED_H
#define DAEMON_DEVICE_SOFT_DEV_DESCRIBED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/device/device.h"
#include "daemon/device/soft/image/image.h"
#include "daemon/device/soft/module/code_module.h"

/* True if any of the image's variables is managed. */
bool described_managed(const struct image *image);

/* Places the image's variables in memory of `env`. Returns 0, ERR_NO_MEMORY with `why` filled, or
 * -ENOMEM. *addrs gets their addresses; it is malloc'd, also after ERR_NO_MEMORY, and the
 * caller's. */
int described_place(const struct image *image, const struct code_env *env, uint64_t **addrs,
                    char *why, size_t why_bytes);
/* Returns 0 or ERR_NOT_FOUND. */
int described_global_get(const struct image *image, const uint64_t *addrs, const char *name,
                         uint64_t *addr, uint64_t *bytes);

/* Describes the image's kernel of this index on a device of this capability. *params and
 * info->params point to the same malloc'd list, which the caller frees even after
 * ERR_INVALID_IMAGE. Returns 0, -ENOMEM, or ERR_INVALID_IMAGE with `why` filled. */
int described_func(const struct image *image, uint32_t index, uint32_t capability,
                   struct dev_func_info *info, struct dev_param **params, char *why,
                   size_t why_bytes);

#endif
