/* SPDX-License-Identifier: Apache-2.0
 *
 * Address checks of bulk copies, also for tensor copies.
 */
#ifndef DAEMON_DEVICE_SOFT_ASYNC_BULK_H
#define DAEMON_DEVICE_SOFT_ASYNC_BULK_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/launch/warp.h"

/* Converts an offset or a generic address in the cluster's shared memory to an address, checked for
 * `bytes` and `align`. Returns false after a fault. */
bool bulk_in_cluster(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, uint64_t bytes,
                     uint32_t align, bool offset, uint64_t *at);

/* The same for the barrier; i->vec says whether it is an offset. */
bool bulk_find_barrier(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, uint64_t *at);

/* Offset `at` in the shared memory of the block of a rank. */
uint64_t bulk_in_rank(uint64_t at, uint32_t rank);

/* code_inst.vec of these instructions and of tensor_copy: the addresses that are offsets in shared
 * memory. Offsets are in the cluster's memory, except for `from` and the destination of a fill. All
 * other addresses are generic. */
enum {
    CODE_BULK_TO = 1,
    CODE_BULK_FROM = 2,
    CODE_BULK_BARRIER = 4,
    CODE_BULK_MASK = 8,
    CODE_BULK_ROWS = 16,
    CODE_BULK_COLUMNS = 32,
    CODE_BULK_INNER = 64
};
/* Handlers. With CODE_BULK_INNER, bulk_copy ignores bytes at both ends. */
void bulk_copy(struct warp *w, const struct code_inst *i, uint32_t mask);
void bulk_store(struct warp *w, const struct code_inst *i, uint32_t mask);
void bulk_fill(struct warp *w, const struct code_inst *i, uint32_t mask);

#endif
