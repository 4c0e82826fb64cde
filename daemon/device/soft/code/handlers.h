/* SPDX-License-Identifier: Apache-2.0
 *
 * What the decoder may ask for of whoever executes: handlers of all instructions that do more than
 * compute (those are isa/'s). Implemented in exec/, by the file of the prefix's name. NULL: not one
 * of this file's operations.
 */
#ifndef DAEMON_DEVICE_SOFT_CODE_HANDLERS_H
#define DAEMON_DEVICE_SOFT_CODE_HANDLERS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/code/code.h"
#include "daemon/device/soft/instructions/ptx_texture.h"

code_handler *atomics_select(const struct code_inst *i);
code_handler *fragments_select(const struct code_inst *i);                 /* run together */
void group_load(struct warp *w, const struct code_inst *i, uint32_t mask); /* run together */
enum code_mbarrier {
    CODE_MBARRIER_INIT,
    CODE_MBARRIER_INVAL,
    CODE_MBARRIER_EXPECT, /* announces bytes */
    CODE_MBARRIER_COMPLETE,
    CODE_MBARRIER_ARRIVE,
    CODE_MBARRIER_DROP,
    CODE_MBARRIER_ARRIVE_EXPECT,
    CODE_MBARRIER_DROP_EXPECT,
    CODE_MBARRIER_WAIT,
    CODE_MBARRIER_PENDING,
};
code_handler *mbarrier_select(enum code_mbarrier what);
code_handler *move_select(const struct code_inst *i);
code_handler *stack_select(const struct code_inst *i);
code_handler *rendezvous_select(const struct code_inst *i);
code_handler *surface_select(const struct ptx_texture *form);
/* Has no handler because its lanes wait for each other. */
bool rendezvous_is(const struct code_inst *i);

code_handler *move_sreg(uint32_t bytes);
/* True if the register tells a time. The interpreter reads it (exec/move.h): its `mov` has no
 * handler. */
bool move_is_clock(enum ptx_sreg r);
void move_address(struct warp *w, const struct code_inst *i, uint32_t mask);
/* code_inst.vec of the next three: which of their addresses are offsets in shared memory, those of
 * the cluster but for `from` and what is filled; the others are generic. */
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
/* Of tensors: both places are offsets; CODE_BULK_MASK: the last value is a mask of blocks; _ROWS,
 * _COLUMNS: four rows, or a convolution's columns, instead of a box. */
void tensor_copy(struct warp *w, const struct code_inst *i, uint32_t mask);
void bulk_fill(struct warp *w, const struct code_inst *i, uint32_t mask);
void cdp_call(struct warp *w, const struct code_inst *i, uint32_t mask);
void graph_call(struct warp *w, const struct code_inst *i, uint32_t mask);
void devrt_call(struct warp *w, const struct code_inst *i, uint32_t mask);

#endif
