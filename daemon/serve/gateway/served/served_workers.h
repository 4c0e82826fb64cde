/* SPDX-License-Identifier: Apache-2.0
 *
 * Callbacks of the workers of a served model, and of its profiler.
 *
 * Owner: the served model. Thread: the loop's.
 */
#ifndef DAEMON_SERVE_GATEWAY_SERVED_SERVED_WORKERS_H
#define DAEMON_SERVE_GATEWAY_SERVED_SERVED_WORKERS_H

#include "daemon/serve/gateway/profile/profiler.h"
#include "daemon/serve/gateway/served/served_state.h"

/* The context of these calls is the struct served_worker. */
extern const struct model_worker_ops served_workers_ops;
/* The context of these calls is the struct served. */
extern const struct profiler_ops served_workers_profiler_ops;

#endif
