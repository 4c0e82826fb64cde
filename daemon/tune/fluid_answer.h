/* SPDX-License-Identifier: Apache-2.0
 *
 * Fills in the plan that a step returns to its caller.
 */
#ifndef DAEMON_TUNE_FLUID_ANSWER_H
#define DAEMON_TUNE_FLUID_ANSWER_H

#include "daemon/tune/fluid_state.h"

void fluid_answer_write(struct salus_fluid *f, struct salus_fluid_plan *out);

#endif
