/* SPDX-License-Identifier: Apache-2.0
 *
 * A launch that is being looked at: what its instructions have in common. Owner: touch_kernel.
 */
#ifndef DAEMON_DEVICE_TOUCH_TOUCH_WALK_H
#define DAEMON_DEVICE_TOUCH_TOUCH_WALK_H

#include "daemon/device/device.h"
#include "daemon/device/touch/touch_state.h"

/* Of an instruction, all that any thread reaches by it; none yet: hi < lo. */
struct touch_span {
    uint64_t lo, hi;
};

struct touch_walk {
    const struct ptx_func *func;
    const struct dev_launch *launch;
    struct touch_span *reads, *writes; /* [func->inst_count] */
    bool reads_all, reads_variables;
    /* What lies in shared or local memory may be another when it is done again; `was` so when it
     * began. */
    bool inner_tainted, inner_was;
    bool carry_tainted;
    uint32_t next_id;
    int err; /* why it ends */
    char *why;
    size_t why_bytes;
};

/* It ends with -ENOTSUP: the instruction `does` something; NULL: it is not understood. */
void touch_refuse(struct touch_walk *w, const struct ptx_inst *i, const char *does);

/* What an operand of so many bits may hold. */
struct touch_value touch_operand(struct touch_walk *w, const struct touch_state *s,
                                 const struct ptx_operand *o, uint32_t bits);
/* Any register in it is tainted, predicates too, or as a number; what an address names is not
 * asked. */
bool touch_operand_tainted(const struct touch_state *s, const struct ptx_operand *o);
/* The instruction's result: where its guard may be false, or what was there before. */
void touch_store(struct touch_walk *w, struct touch_state *s, const struct ptx_inst *i,
                 const struct ptx_operand *d, struct touch_value v);
void touch_store_pred(struct touch_walk *w, struct touch_state *s, const struct ptx_inst *i,
                      const struct ptx_operand *d, struct touch_pred p);
/* Nothing is known of what it gives, but for its taint. */
void touch_store_any(struct touch_walk *w, struct touch_state *s, const struct ptx_inst *i,
                     const struct ptx_operand *d, bool tainted);
/* Whether the guard may be false. */
bool touch_guarded(const struct touch_state *s, const struct ptx_inst *i);
bool touch_guard_tainted(const struct touch_state *s, const struct ptx_inst *i);

#endif
