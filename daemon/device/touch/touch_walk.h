/* SPDX-License-Identifier: Apache-2.0
 *
 * The interpretation of a launch: state that all its instructions share. Owner: touch_kernel.
 */
#ifndef DAEMON_DEVICE_TOUCH_TOUCH_WALK_H
#define DAEMON_DEVICE_TOUCH_TOUCH_WALK_H

#include "daemon/device/device.h"
#include "daemon/device/touch/touch_state.h"

/* The bytes that any thread reaches by one instruction; none yet: hi < lo. */
struct touch_span {
    uint64_t lo, hi;
};

struct touch_walk {
    const struct ptx_func *func;
    const struct dev_launch *launch;
    struct touch_span *reads, *writes; /* [func->inst_count] */
    bool reads_all, reads_variables;
    /* inner_tainted: bytes in shared or local memory may differ in a repetition; inner_was: the
     * value of it at the beginning. */
    bool inner_tainted, inner_was;
    bool carry_tainted;
    uint32_t next_id;
    int err; /* the error that ends it */
    char *why;
    size_t why_bytes;
};

/* Ends with -ENOTSUP: the instruction `does` something; NULL: it is not understood. */
void touch_refuse(struct touch_walk *w, const struct ptx_inst *i, const char *does);

/* The possible values of an operand of this width. */
struct touch_value touch_operand(struct touch_walk *w, const struct touch_state *s,
                                 const struct ptx_operand *o, uint32_t bits);
/* True when any register in it, including predicates, is tainted, or differs as a number. The
 * memory at an address does not matter here. */
bool touch_operand_tainted(const struct touch_state *s, const struct ptx_operand *o);
/* Stores the instruction's result, joined with the old value where the guard may be false. */
void touch_store(struct touch_walk *w, struct touch_state *s, const struct ptx_inst *i,
                 const struct ptx_operand *d, struct touch_value v);
void touch_store_pred(struct touch_walk *w, struct touch_state *s, const struct ptx_inst *i,
                      const struct ptx_operand *d, struct touch_pred p);
/* Stores an unknown result with this taint. */
void touch_store_any(struct touch_walk *w, struct touch_state *s, const struct ptx_inst *i,
                     const struct ptx_operand *d, bool tainted);
/* True when the guard may be false. */
bool touch_guarded(const struct touch_state *s, const struct ptx_inst *i);
bool touch_guard_tainted(const struct touch_state *s, const struct ptx_inst *i);

#endif
