/* SPDX-License-Identifier: Apache-2.0
 *
 * Places of bulk copies, for those who copy tiles.
 */
#ifndef DAEMON_DEVICE_SOFT_ASYNC_BULK_H
#define DAEMON_DEVICE_SOFT_ASYNC_BULK_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/launch/warp.h"

/* An offset or a generic address in the cluster's shared memory as an address, checked for `bytes`
 * and `align`. False after a fault. */
bool bulk_in_cluster(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, uint64_t bytes,
                     uint32_t align, bool offset, uint64_t *at);

/* The same of the barrier that i->vec says is an offset, or not. */
bool bulk_find_barrier(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, uint64_t *at);

/* Offset `at` in shared memory of the block of a rank. */
uint64_t bulk_in_rank(uint64_t at, uint32_t rank);

#endif
