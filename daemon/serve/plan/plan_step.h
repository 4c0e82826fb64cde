/* SPDX-License-Identifier: Apache-2.0
 *
 * The step: takes events and returns actions.
 */
#ifndef DAEMON_SERVE_PLAN_PLAN_STEP_H
#define DAEMON_SERVE_PLAN_PLAN_STEP_H

#include "daemon/serve/plan/types/plan_types.h"

/* Returns 0, or -ENOMEM with the state unchanged. A time before the latest step's counts as the
 * latest step's. */
int plan_step(struct plan *p, uint64_t now_ns, const struct plan_event *events, uint32_t count,
              struct plan_actions *out);

#endif
