/* SPDX-License-Identifier: Apache-2.0
 *
 * Trials that wait go onto what is idle (Algorithm 3.1).
 */
#ifndef DAEMON_TUNE_PLACING_H
#define DAEMON_TUNE_PLACING_H

#include "daemon/tune/state.h"

void placing_run(struct salus_fluid *f);

#endif
