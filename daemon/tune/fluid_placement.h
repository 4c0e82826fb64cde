/* SPDX-License-Identifier: Apache-2.0
 *
 * Places waiting trials on idle GPUs (Algorithm 3.1).
 */
#ifndef DAEMON_TUNE_FLUID_PLACEMENT_H
#define DAEMON_TUNE_FLUID_PLACEMENT_H

#include "daemon/tune/fluid_state.h"

void fluid_placement_run(struct salus_fluid *f);

#endif
