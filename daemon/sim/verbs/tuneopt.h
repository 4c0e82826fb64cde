/* SPDX-License-Identifier: Apache-2.0
 *
 * The options of `salus-sim tune`.
 *
 * Owner: the caller. Thread: any.
 */
#ifndef DAEMON_SIM_VERBS_TUNEOPT_H
#define DAEMON_SIM_VERBS_TUNEOPT_H

#include <stdbool.h>
#include <stdio.h>

#include "daemon/sim/compare/tunejobs.h"

struct tuneopt {
    struct tunejobs_config config;
    double alpha, beta, costs; /* for all tasks; below 0: each task's own */
    bool json;
};

void tuneopt_init(struct tuneopt *o);
/* Skips argv[0]. Returns false with a sentence on `err`. */
bool tuneopt_take(struct tuneopt *o, char **argv, FILE *err);

void tuneopt_explain(FILE *out);

#endif
