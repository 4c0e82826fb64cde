/* SPDX-License-Identifier: Apache-2.0
 *
 * The trials that joined and did not end, in an array indexed by place. A hash table finds them by
 * the caller's id. Memory is allocated once.
 *
 * Owner: the library's state. Thread: the state's owner.
 */
#ifndef DAEMON_TUNE_TRIALS_H
#define DAEMON_TUNE_TRIALS_H

#include <stdint.h>

#include "common/slotmap.h"
#include "daemon/tune/fluid_curve.h"

#define TRIALS_NONE UINT32_MAX

struct trial {
    uint64_t id, group;
    uint64_t turn; /* turn of the trial's group; lower turns go first */
    struct curve curve;
    double left_ns;    /* h_{i,1} of the remaining work; above 0 */
    double share;      /* w; 0: the trial waits */
    double settles_ns; /* RESIZING: when the trial probably runs again */
    uint32_t packed_most, spread_most;
    uint32_t packed_said, spread_said; /* limits for the time when the trial waits again (KNOWN) */
    uint32_t state;                    /* enum salus_fluid_state */
    uint32_t gpu; /* share below one: its GPU; else the first of its list (strip.next) */
    uint32_t deaths;
    uint32_t next_free;
    /* Values of the latest plan; share below 0: not in a plan yet. */
    double shown_share, shown_part;
    uint32_t shown_state;
    bool moved; /* the trial's GPUs changed since the latest plan */
};

struct trials {
    struct trial *at;   /* indexed by place */
    uint32_t *in_order; /* places of the present trials in the order of joining */
    struct slotmap ids;
    uint64_t turns; /* turns given out so far */
    uint32_t capacity, count, first_free;
};

/* Returns 0 or -ENOMEM. After a failure the caller still calls trials_finish. */
int trials_init(struct trials *t, uint32_t capacity);
void trials_finish(struct trials *t);

/* TRIALS_NONE if there is no trial with this id. */
uint32_t trials_find(const struct trials *t, uint64_t id);
/* Adds a trial and returns its place. There must be space and the id must be new. Only the id is
 * set; the caller fills in the rest. */
uint32_t trials_add(struct trials *t, uint64_t id);
void trials_remove(struct trials *t, uint32_t place);

/* The turn for a new trial of this group: the turn of its present members, or a new one. */
uint64_t trials_turn(struct trials *t, uint64_t group);

#endif
