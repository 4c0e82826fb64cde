/* SPDX-License-Identifier: Apache-2.0
 *
 * Imports kernel profiles in the formats that Nsight Compute exports.
 */
#ifndef DAEMON_KERNELS_KERNEL_IMPORT_NCU_H
#define DAEMON_KERNELS_KERNEL_IMPORT_NCU_H

#include "daemon/kernels/kernel_import_part.h"

bool kernel_import_is_ncu(const struct csv *header);
int kernel_import_ncu(struct kernel_import *k);

#endif
