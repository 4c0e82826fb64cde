/* SPDX-License-Identifier: Apache-2.0
 *
 * The trials that joined and did not end, in an array by place, found by the caller's id. Room is
 * reserved once.
 *
 * Owner: the library's state. Thread: its caller's.
 */
#ifndef DAEMON_TUNE_TRIALS_H
#define DAEMON_TUNE_TRIALS_H

#include <stdint.h>

#include "common/slotmap.h"
#include "daemon/tune/fluid_curve.h"

#define TRIALS_NONE UINT32_MAX

struct trial {
    uint64_t id, group;
    uint64_t turn; /* of its group among those that wait: lower ones go first */
    struct curve curve;
    double left_ns;    /* h_{i,1} of what is left; above 0 */
    double share;      /* w; 0: it waits */
    double settles_ns; /* RESIZING: when it probably runs again */
    uint32_t packed_most, spread_most;
    uint32_t packed_said, spread_said; /* what these are from when it waits again (KNOWN) */
    uint32_t state;                    /* enum salus_fluid_state */
    uint32_t gpu; /* below one: which; else the first of its list (strip.next) */
    uint32_t deaths;
    uint32_t next_free;
    double shown_share, shown_part; /* what the latest plan said; share below 0: it is in none */
    uint32_t shown_state;
    bool moved; /* it is on other GPUs since */
};

struct trials {
    struct trial *at;   /* by place */
    uint32_t *in_order; /* places of those that are there, as they joined */
    struct slotmap ids;
    uint64_t turns; /* given so far */
    uint32_t capacity, count, first_free;
};

/* 0 or -ENOMEM; half of it may be there: trials_finish. */
int trials_init(struct trials *t, uint32_t capacity);
void trials_finish(struct trials *t);

/* TRIALS_NONE: there is none. */
uint32_t trials_find(const struct trials *t, uint64_t id);
/* Room must be there, the id must be new; all but the id is to be filled in. Returns its place. */
uint32_t trials_add(struct trials *t, uint64_t id);
void trials_remove(struct trials *t, uint32_t place);

/* The turn that a new trial of this group has: that of those of it that are there, else a new one.
 */
uint64_t trials_turn(struct trials *t, uint64_t group);

#endif
