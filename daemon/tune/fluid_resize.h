/* SPDX-License-Identifier: Apache-2.0
 *
 * Resizes running trials onto freed GPUs (Algorithm 3.2).
 */
#ifndef DAEMON_TUNE_FLUID_RESIZE_H
#define DAEMON_TUNE_FLUID_RESIZE_H

#include "daemon/tune/fluid_state.h"

void fluid_resize_run(struct salus_fluid *f);

#endif
