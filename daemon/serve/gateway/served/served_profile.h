/* SPDX-License-Identifier: Apache-2.0
 *
 * A served model and its profiler: what of its requests is run again, and how the scheduler is told
 * what they took. All of it may be called where the model has none.
 *
 * Owner: the served model. Thread: the loop's.
 */
#ifndef DAEMON_SERVE_GATEWAY_SERVED_PROFILE_H
#define DAEMON_SERVE_GATEWAY_SERVED_PROFILE_H

#include "daemon/serve/gateway/profile/profile.h"
#include "daemon/serve/gateway/served/served_state.h"

/* When the command of the model's workers is known. 0 or -ENOMEM. */
int served_profile_create(struct served *s);
/* One more that `stopping` counts, and that served_one_less follows of, if there is a profiler. */
void served_profile_stop(struct served *s);
void served_profile_destroy(struct served *s);

/* A request has come; is in a batch of so many; has its end. */
void served_profile_asked(struct asked *asked);
void served_profile_sent(struct asked *asked, uint32_t count);
void served_profile_end(struct asked *asked, enum served_end end);
/* A worker's batch has its end. */
void served_profile_quiet(struct served *s);

struct profile_counts served_profile_counts(const struct served *s);
/* Its metrics (served_profile_metrics.c), as served_metric and served_metric_head have them. */
bool served_profile_metric(const struct served *s, uint32_t index, struct buf *text);
void served_profile_metric_head(uint32_t index, struct buf *text);

#endif
