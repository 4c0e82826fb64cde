/* SPDX-License-Identifier: Apache-2.0
 *
 * The library's whole state.
 *
 * Owner: the caller of salus_fluid_create. Thread: the owner's.
 */
#ifndef DAEMON_TUNE_FLUID_STATE_H
#define DAEMON_TUNE_FLUID_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/tune/salus_fluid.h"
#include "daemon/tune/shares.h"
#include "daemon/tune/strips.h"
#include "daemon/tune/trials.h"

struct salus_fluid {
    struct salus_fluid_config config; /* defaults are filled in */
    int64_t now_ns;
    struct trials trials;
    struct strips strips;
    uint32_t waiting; /* number of trials that wait */
    bool freed;       /* GPUs became idle or limits changed in this step: resize running trials */
    uint64_t resizes;

    /* Scratch space of one step. */
    struct shares_ask *asks, *spare;      /* length trials_most */
    struct salus_fluid_trial *shown;      /* length trials_most */
    uint32_t *shown_gpus;                 /* length gpus_most + trials_most */
    struct salus_fluid_refusal *refusals; /* length: the most events of a step */
    uint32_t refused;
};

static inline struct trial *fluid_state_trial(struct salus_fluid *f, uint32_t index) {
    return &f->trials.at[f->trials.in_order[index]];
}

/* Speed of the trial: work done per ns; 0 if it does not run. */
double fluid_state_rate(const struct salus_fluid *f, const struct trial *t);
/* Time at which the trial ends if nothing changes; infinity if it waits. */
double fluid_state_end_ns(const struct salus_fluid *f, const struct trial *t);
/* Makes the trial wait, without a GPU. */
void fluid_state_wait(struct salus_fluid *f, uint32_t place);
/* Builds the input of the algorithms' line 3 for this trial. */
struct shares_ask fluid_state_ask(const struct salus_fluid *f, uint32_t place);

#endif
