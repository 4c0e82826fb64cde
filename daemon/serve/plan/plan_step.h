/* SPDX-License-Identifier: Apache-2.0
 *
 * The step: events in, actions out.
 */
#ifndef DAEMON_SERVE_PLAN_PLAN_STEP_H
#define DAEMON_SERVE_PLAN_PLAN_STEP_H

#include "daemon/serve/plan/types/plan_types.h"

/* 0, or -ENOMEM with the state unchanged. A time before that of the latest step is taken for that.
 */
int plan_step(struct plan *p, uint64_t now_ns, const struct plan_event *events, uint32_t count,
              struct plan_actions *out);

#endif
