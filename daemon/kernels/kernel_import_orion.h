/* SPDX-License-Identifier: Apache-2.0
 *
 * Imports kernel profiles in the format that the authors of Orion publish.
 */
#ifndef DAEMON_KERNELS_KERNEL_IMPORT_ORION_H
#define DAEMON_KERNELS_KERNEL_IMPORT_ORION_H

#include "daemon/kernels/kernel_import_part.h"

/* kernel_import_is_orion tests for this format's header. kernel_import_orion reads all rows after
 * the header and returns 0 or a negative error. */
bool kernel_import_is_orion(const struct csv *header);
int kernel_import_orion(struct kernel_import *k);

#endif
