/* SPDX-License-Identifier: Apache-2.0
 *
 * The interpreter: runs the instructions of one warp, one after the other.
 */
#ifndef DAEMON_DEVICE_SOFT_EXEC_INTERP_H
#define DAEMON_DEVICE_SOFT_EXEC_INTERP_H

#include <stdint.h>

#include "daemon/device/soft/launch/warp.h"

/* Result of interp_run. MORE: the quantum is over. SPINS: the same, and the lanes seemed to wait
 * for others. BLOCKED: every split waits. ENDED: all lanes have exited. FAULT: the block has
 * faulted. */
enum interp_outcome { INTERP_MORE, INTERP_SPINS, INTERP_BLOCKED, INTERP_ENDED, INTERP_FAULT };

/* Runs until every split waits, all have ended, or the quantum is over. Subtracts the
 * warp-instructions used from `*budget`. */
enum interp_outcome interp_run(struct warp_ctx *x, int64_t *budget);

#endif
