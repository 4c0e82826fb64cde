/* SPDX-License-Identifier: Apache-2.0
 *
 * Profiles of kernels as the Orion authors publish them.
 */
#ifndef DAEMON_KERNELS_KERNEL_IMPORT_ORION_H
#define DAEMON_KERNELS_KERNEL_IMPORT_ORION_H

#include "daemon/kernels/kernel_import_part.h"

/* Is the row of the header one of this format's, and the rows after it: 0 or negative. */
bool kernel_import_is_orion(const struct csv *header);
int kernel_import_orion(struct kernel_import *k);

#endif
