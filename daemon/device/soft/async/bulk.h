/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers of bulk copies, and their address checks, which tensor copies use too.
 */
#ifndef DAEMON_DEVICE_SOFT_ASYNC_BULK_H
#define DAEMON_DEVICE_SOFT_ASYNC_BULK_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/launch/warp.h"

/* Converts *at to an address in the cluster's shared memory and checks it for `bytes` and `align`.
 * *at is an offset as kernels see it (`offset`) or a generic address. Returns false after a
 * fault. */
bool bulk_in_cluster(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, uint64_t bytes,
                     uint32_t align, bool offset, uint64_t *at);

/* Converts *at, the address of an mbarrier, in the same way. CODE_BULK_BARRIER in i->vec: it is an
 * offset. Returns false after a fault. */
bool bulk_find_barrier(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, uint64_t *at);

/* Returns the offset that names byte `at` of the shared memory of the block with this rank. */
uint64_t bulk_in_rank(uint64_t at, uint32_t rank);

/* Flags in code_inst.vec of the handlers below and of tensor_copy. The first three say that an
 * address is an offset in shared memory and not generic. Offsets are in the cluster's memory,
 * except for bulk_copy's source and bulk_fill's destination, which are in the block's. */
enum {
    CODE_BULK_TO = 1,      /* the destination is an offset */
    CODE_BULK_FROM = 2,    /* the source is an offset */
    CODE_BULK_BARRIER = 4, /* the barrier's address is an offset */
    /* bulk_store: store in every block; tensor_copy: the last use is a mask of blocks */
    CODE_BULK_MASK = 8,
    CODE_BULK_ROWS = 16,    /* tensor_copy: gather4 or scatter4 */
    CODE_BULK_COLUMNS = 32, /* tensor_copy: im2col */
    CODE_BULK_INNER = 64    /* bulk_copy: ignore bytes at both ends */
};
/* Handlers: cp.async.bulk without tensors, st.async and red.async, st.bulk. */
void bulk_copy(struct warp *w, const struct code_inst *i, uint32_t mask);
void bulk_store(struct warp *w, const struct code_inst *i, uint32_t mask);
void bulk_fill(struct warp *w, const struct code_inst *i, uint32_t mask);

#endif
