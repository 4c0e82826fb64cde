/* SPDX-License-Identifier: Apache-2.0
 *
 * Lanes of a warp that meet to exchange values.
 */
#ifndef DAEMON_DEVICE_SOFT_EXEC_RENDEZVOUS_H
#define DAEMON_DEVICE_SOFT_EXEC_RENDEZVOUS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/launch/warp.h"

/* The `mask` lanes of the running split arrive and meet at once if all members are here. Otherwise
 * their split is added, and the function returns false. */
bool rendezvous_arrive(struct warp_ctx *x, const struct code_inst *i, int32_t pc, uint32_t mask);
/* Completes the meetings that can be completed. `lenient`: also completes one whose missing lanes
 * will never come. Returns true when some lanes became runnable. */
bool rendezvous_resolve(struct warp_ctx *x, bool lenient);

/* Returns the handler of activemask, the only such operation that never waits; NULL for all
 * others. */
code_handler *rendezvous_select(const struct code_inst *i);
/* True if the operation has no handler because its lanes wait for each other. */
bool rendezvous_is(const struct code_inst *i);

#endif
