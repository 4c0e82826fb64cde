/* SPDX-License-Identifier: Apache-2.0
 *
 * What a cubin makes of a module in a space that computes nothing: its variables are there, and its
 * kernels are what it says of them. Owner: the module. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_SOFT_DEV_DESCRIBED_H
#define DAEMON_DEVICE_SOFT_DEV_DESCRIBED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/device/device.h"
#include "daemon/device/soft/image/image.h"
#include "daemon/device/soft/module/code_module.h"

/* Whether any of the image's variables is a managed one. */
bool described_managed(const struct image *image);

/* Puts the image's variables into memory of `env`. 0 and where each of them is, malloc'd;
 * ERR_NO_MEMORY or -ENOMEM, with `why` filled. */
int described_place(const struct image *image, const struct code_env *env, uint64_t **addrs,
                    char *why, size_t why_bytes);
/* 0 or ERR_NOT_FOUND. */
int described_global_get(const struct image *image, const uint64_t *addrs, const char *name,
                         uint64_t *addr, uint64_t *bytes);

/* The image's kernel of this index on a device of that capability; `params`, malloc'd in any case
 * or NULL, is what info->params points to. 0, -ENOMEM, or ERR_INVALID_IMAGE with `why` filled. */
int described_func(const struct image *image, uint32_t index, uint32_t capability,
                   struct dev_func_info *info, struct dev_param **params, char *why,
                   size_t why_bytes);

#endif
