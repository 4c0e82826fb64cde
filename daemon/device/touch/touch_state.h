/* SPDX-License-Identifier: Apache-2.0
 *
 * The possible values of all registers at one place of a kernel, and the implications of its
 * predicates.
 *
 * Owner: the caller of touch_state_make or touch_state_copy.
 */
#ifndef DAEMON_DEVICE_TOUCH_TOUCH_STATE_H
#define DAEMON_DEVICE_TOUCH_TOUCH_STATE_H

#include "daemon/device/soft/instructions/ptx_tables.h"
#include "daemon/device/touch/touch_value.h"

#define TOUCH_ATOMS 4

/* States that the value with this id is among lo to lo + len. */
struct touch_atom {
    uint64_t lo, len;
    uint32_t id, bits;
};

enum touch_truth { TOUCH_EITHER, TOUCH_FALSE, TOUCH_TRUE };

struct touch_pred {
    enum touch_truth truth;
    bool tainted;
    uint8_t count[2]; /* number of implications when it is false, and when true */
    struct touch_atom then[2][TOUCH_ATOMS]; /* all of these hold */
};

struct touch_state {
    const struct ptx_func *func;
    const uint32_t *pred_of; /* index of each register's predicate */
    uint32_t pred_count;
    struct touch_pred *preds;
    struct touch_value values[]; /* [func->reg_count] */
};

static inline uint32_t touch_reg_bits(const struct ptx_func *f, int32_t reg) {
    uint32_t bytes = ptx_type_bytes((enum ptx_type)f->regs[reg].type);
    return bytes > 8 ? 64 : 8 * bytes;
}

static inline struct touch_pred *touch_pred_at(struct touch_state *s, int32_t reg) {
    return &s->preds[s->pred_of[reg]];
}

/* A state in which nothing is known. NULL: out of memory. */
struct touch_state *touch_state_make(const struct ptx_func *f, const uint32_t *pred_of,
                                     uint32_t pred_count);
struct touch_state *touch_state_copy(const struct touch_state *s);

/* Joins `other` into `into`. `next_id` is increased for each new id. */
void touch_state_join(struct touch_state *into, const struct touch_state *other, uint32_t *next_id);
/* Joins likewise at a place that is reached repeatedly; `round` counts the visits. Growing values
 * are widened step by step, so that the process ends. False: nothing grew. */
bool touch_state_widen(struct touch_state *into, const struct touch_state *other, uint32_t round,
                       uint32_t *next_id);

/* Assumes the predicate's value and narrows registers accordingly. False: that is impossible. */
bool touch_state_assume(struct touch_state *s, int32_t pred, bool truth);

/* ---- predicates ------------------------------------------------------------------------------ */

void touch_pred_add(struct touch_pred *p, bool truth, const struct touch_atom *a);
struct touch_pred touch_pred_not(const struct touch_pred *p);
struct touch_pred touch_pred_and(const struct touch_pred *a, const struct touch_pred *b);
struct touch_pred touch_pred_or(const struct touch_pred *a, const struct touch_pred *b);
/* One of the two, unknown which. */
struct touch_pred touch_pred_either(const struct touch_pred *a, const struct touch_pred *b);

#endif
