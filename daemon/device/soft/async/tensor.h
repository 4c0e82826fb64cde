/* SPDX-License-Identifier: Apache-2.0
 *
 * Handler of copies of boxes of tensors by their maps.
 */
#ifndef DAEMON_DEVICE_SOFT_ASYNC_TENSOR_H
#define DAEMON_DEVICE_SOFT_ASYNC_TENSOR_H

#include <stdint.h>

#include "daemon/device/soft/code/code.h"

/* Copies a box. Its address in shared memory, and that of the barrier, are offsets in the cluster's
 * memory. CODE_BULK_MASK (bulk.h): the last value is a mask of blocks. CODE_BULK_ROWS,
 * CODE_BULK_COLUMNS: copies four rows, or a convolution's columns, instead of a box. */
void tensor_copy(struct warp *w, const struct code_inst *i, uint32_t mask);

#endif
