/* SPDX-License-Identifier: Apache-2.0
 *
 * The plan, written down for the caller of a step.
 */
#ifndef DAEMON_TUNE_ANSWER_H
#define DAEMON_TUNE_ANSWER_H

#include "daemon/tune/state.h"

void answer_write(struct salus_fluid *f, struct salus_fluid_plan *out);

#endif
