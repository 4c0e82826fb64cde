/* SPDX-License-Identifier: Apache-2.0
 *
 * All that the library knows.
 *
 * Owner: who called salus_fluid_create. Thread: the caller's.
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
    struct salus_fluid_config config; /* nothing in it is 0 for "what is said" any more */
    int64_t now_ns;
    struct trials trials;
    struct strips strips;
    uint32_t waiting; /* trials */
    bool freed;       /* in this step a GPU became idle, or a part of one */
    uint64_t resizes;

    /* Of one step. */
    struct shares_ask *asks, *spare;      /* by trials_most */
    struct salus_fluid_trial *shown;      /* by trials_most */
    uint32_t *shown_gpus;                 /* by gpus_most + trials_most */
    struct salus_fluid_refusal *refusals; /* by events of a step at most */
    uint32_t refused;
};

static inline struct trial *fluid_state_trial(struct salus_fluid *f, uint32_t index) {
    return &f->trials.at[f->trials.in_order[index]];
}

/* Work that is done in a ns; 0 where it does not run. */
double fluid_state_rate(const struct salus_fluid *f, const struct trial *t);
/* When it ends if nothing changes; waiting: infinity. */
double fluid_state_end_ns(const struct salus_fluid *f, const struct trial *t);
/* It waits, on no GPU. */
void fluid_state_wait(struct salus_fluid *f, uint32_t place);
/* What line 3 is asked about it. */
struct shares_ask fluid_state_ask(const struct salus_fluid *f, uint32_t place);

#endif
