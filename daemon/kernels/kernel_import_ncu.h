/* SPDX-License-Identifier: Apache-2.0
 *
 * Imports kernel profiles in the formats that Nsight Compute exports.
 */
#ifndef DAEMON_KERNELS_KERNEL_IMPORT_NCU_H
#define DAEMON_KERNELS_KERNEL_IMPORT_NCU_H

#include "daemon/kernels/kernel_import_part.h"

/* kernel_import_is_ncu tests for this format's header. kernel_import_ncu reads all rows after the
 * header and returns 0 or a negative error. */
bool kernel_import_is_ncu(const struct csv *header);
int kernel_import_ncu(struct kernel_import *k);

#endif
