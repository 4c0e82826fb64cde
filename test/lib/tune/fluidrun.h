/* SPDX-License-Identifier: Apache-2.0
 *
 * A group of trials under Fluid to its end, in a world in which (3.2) is true: each ends when its
 * plan says, each resize takes epsilon. The library's invariants are looked at after every step.
 */
#ifndef TEST_LIB_FLUIDRUN_H
#define TEST_LIB_FLUIDRUN_H

#include <stdbool.h>

#include "daemon/tune/salus_fluid.h"

#define FLUIDRUN_TRIALS 256u

struct fluidrun {
    struct salus_fluid *f;
    int64_t now_ns, change_ns;
    struct salus_fluid_plan plan; /* the latest */
    struct {
        uint64_t id;
        int64_t settles_ns;
    } resizing[FLUIDRUN_TRIALS];
    uint32_t resizing_count;
    const char *broken; /* an invariant that did not hold; NULL: none */
};

/* Aborts where the configuration cannot be. */
void fluidrun_init(struct fluidrun *r, const struct salus_fluid_config *config);
void fluidrun_finish(struct fluidrun *r);

/* One step now. */
void fluidrun_step(struct fluidrun *r, const struct salus_fluid_event *events, uint32_t count);
/* To the next end or settling, which is told. False: nothing runs. */
bool fluidrun_next(struct fluidrun *r);

/* All of these in one group at 0, until the last has ended: when that is, ns. -1: it never is. */
int64_t fluidrun_makespan(const struct salus_fluid_config *config,
                          const struct salus_fluid_event *trials, uint32_t count,
                          uint64_t *resizes);

/* The entry of the latest plan; aborts if there is none. */
const struct salus_fluid_trial *fluidrun_trial(const struct fluidrun *r, uint64_t id);

/* A trial that joins group 1, without overheads unless they are filled in. */
struct salus_fluid_event fluidrun_join(uint64_t id, int64_t left_ns);

#endif
