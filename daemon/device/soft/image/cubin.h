/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the facts that a cubin (an ELF file with machine code for one architecture) has about its
 * kernels. The code itself is not used. The input is hostile; no references to it remain.
 */
#ifndef DAEMON_DEVICE_SOFT_IMAGE_CUBIN_H
#define DAEMON_DEVICE_SOFT_IMAGE_CUBIN_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/device/soft/image/image_kernel.h"

#define CUBIN_ENTRY_FLAG 0x10 /* st_other of a kernel */

/* Returns 75 for sm_75, or 0 if the image is not a cubin. */
uint32_t cubin_target(const void *image, size_t bytes);

/* Reads the kernels, malloc'd; cubin_free releases them. Returns 0, ERR_INVALID_IMAGE or
 * -ENOMEM. */
int cubin_read(const void *image, size_t bytes, struct image_kernel **kernels, uint32_t *count);
void cubin_free(struct image_kernel *kernels, uint32_t count);

#endif
