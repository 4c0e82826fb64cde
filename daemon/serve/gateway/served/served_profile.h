/* SPDX-License-Identifier: Apache-2.0
 *
 * A served model and its profiler: what of its requests is run again, and how the scheduler is told
 * what they took. All of it may be called where the model has none.
 *
 * Owner: the served model. Thread: the loop's.
 */
#ifndef DAEMON_SERVE_GATEWAY_SERVED_SERVED_PROFILE_H
#define DAEMON_SERVE_GATEWAY_SERVED_SERVED_PROFILE_H

#include "daemon/serve/gateway/profile/profile.h"
#include "daemon/serve/gateway/served/served_state.h"

/* Called once the command of the model's workers is known. `ops` get the served model. 0 or
 * -ENOMEM. */
int served_profile_create(struct served *s, const struct profile_ops *ops);
/* One more that `stopping` counts, and that served_one_less follows of, if there is a profiler. */
void served_profile_stop(struct served *s);
/* The profiler has stopped for good. */
void served_profile_stopped(struct served *s);
void served_profile_destroy(struct served *s);

/* True if a run of the profiler now would be beside a batch. */
bool served_profile_is_crowded(const struct served *s);

/* A request has come; is in a batch of so many; has its end. */
void served_profile_asked(struct asked *asked);
void served_profile_sent(struct asked *asked, uint32_t count);
void served_profile_end(struct asked *asked, enum served_end end);
/* A worker's batch has its end. */
void served_profile_quiet(struct served *s);

struct profile_counts served_profile_counts(const struct served *s);

#endif
