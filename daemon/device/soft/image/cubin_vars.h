/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a cubin's variables. The input is hostile; no references to it remain.
 */
#ifndef DAEMON_DEVICE_SOFT_IMAGE_CUBIN_VARS_H
#define DAEMON_DEVICE_SOFT_IMAGE_CUBIN_VARS_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/device/soft/image/image_kernel.h"

/* Reads the variables in device memory that programs can find by name, malloc'd; cubin_vars_free
 * releases them. Returns 0, ERR_INVALID_IMAGE or -ENOMEM. */
int cubin_vars_read(const void *image, size_t bytes, struct image_var **vars, uint32_t *count);
void cubin_vars_free(struct image_var *vars, uint32_t count);

#endif
