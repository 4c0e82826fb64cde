/* SPDX-License-Identifier: Apache-2.0
 *
 * What a cubin (an ELF file with machine code for one architecture) says about its kernels. The
 * code itself is of no use here. Reads hostile bytes, keeps nothing of them.
 */
#ifndef DAEMON_DEVICE_SOFT_IMAGE_CUBIN_H
#define DAEMON_DEVICE_SOFT_IMAGE_CUBIN_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/device/soft/image/image_kernel.h"

#define CUBIN_ENTRY_FLAG 0x10 /* st_other of a kernel */

/* 75 for sm_75; 0: not a cubin. */
uint32_t cubin_target(const void *image, size_t bytes);

/* The kernels, malloc'd; cubin_free releases them. 0, ERR_INVALID_IMAGE or -ENOMEM. */
int cubin_read(const void *image, size_t bytes, struct image_kernel **kernels, uint32_t *count);
void cubin_free(struct image_kernel *kernels, uint32_t count);

#endif
