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

/* code_inst.vec of these and of tensor_copy: which of their addresses are offsets in shared memory,
 * those of the cluster but for `from` and what is filled; the others are generic. */
enum {
    CODE_BULK_TO = 1,
    CODE_BULK_FROM = 2,
    CODE_BULK_BARRIER = 4,
    CODE_BULK_MASK = 8,
    CODE_BULK_ROWS = 16,
    CODE_BULK_COLUMNS = 32,
    CODE_BULK_INNER = 64
};
/* CODE_BULK_INNER: so many bytes at both ends are left out. */
void bulk_copy(struct warp *w, const struct code_inst *i, uint32_t mask);
void bulk_store(struct warp *w, const struct code_inst *i, uint32_t mask);
void bulk_fill(struct warp *w, const struct code_inst *i, uint32_t mask);

#endif
