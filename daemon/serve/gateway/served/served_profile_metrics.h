/* SPDX-License-Identifier: Apache-2.0
 *
 * Prometheus metrics of the profiler and of times alone.
 *
 * Owner: the served model. Thread: the loop's.
 */
#ifndef DAEMON_SERVE_GATEWAY_SERVED_SERVED_PROFILE_METRICS_H
#define DAEMON_SERVE_GATEWAY_SERVED_SERVED_PROFILE_METRICS_H

#include "daemon/serve/gateway/served/served_state.h"

/* Same meaning as served_metric and served_metric_head. */
bool served_profile_metric(const struct served *s, uint32_t index, struct buf *text);
void served_profile_metric_head(uint32_t index, struct buf *text);

#endif
