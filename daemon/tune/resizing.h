/* SPDX-License-Identifier: Apache-2.0
 *
 * Trials that run go onto what was freed (Algorithm 3.2).
 */
#ifndef DAEMON_TUNE_RESIZING_H
#define DAEMON_TUNE_RESIZING_H

#include "daemon/tune/state.h"

void resizing_run(struct salus_fluid *f);

#endif
