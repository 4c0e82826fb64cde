/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a group of trials under Fluid to its end, in a world in which (3.2) holds exactly: each
 * trial ends when its plan says, each resize takes epsilon. The library's invariants are checked
 * after every step.
 */
#ifndef TEST_LIB_FLUIDRUN_H
#define TEST_LIB_FLUIDRUN_H

#include <stdbool.h>

#include "daemon/tune/salus_fluid.h"

#define FLUIDRUN_TRIALS 256u

struct fluidrun {
    struct salus_fluid *f;
    int64_t now_ns, change_ns;
    struct salus_fluid_plan plan; /* latest plan */
    struct {
        uint64_t id;
        int64_t settles_ns;
    } resizing[FLUIDRUN_TRIALS];
    uint32_t resizing_count;
    const char *broken; /* an invariant that is broken; NULL: none */
};

/* Aborts when the configuration is invalid. */
void fluidrun_init(struct fluidrun *r, const struct salus_fluid_config *config);
void fluidrun_finish(struct fluidrun *r);

/* Runs one step at the current time. */
void fluidrun_step(struct fluidrun *r, const struct salus_fluid_event *events, uint32_t count);
/* Advances to the next end or settled resize and reports it. False: nothing runs. */
bool fluidrun_next(struct fluidrun *r);

/* Runs all these trials in one group from 0 until the last has ended; returns that time in ns,
 * or -1 if it never comes. */
int64_t fluidrun_makespan(const struct salus_fluid_config *config,
                          const struct salus_fluid_event *trials, uint32_t count,
                          uint64_t *resizes);

/* The trial's entry in the latest plan; aborts if there is none. */
const struct salus_fluid_trial *fluidrun_trial(const struct fluidrun *r, uint64_t id);

/* An event by which a trial joins group 1, without overheads unless the caller fills them in. */
struct salus_fluid_event fluidrun_join(uint64_t id, int64_t left_ns);

#endif
