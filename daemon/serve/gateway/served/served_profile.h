/* SPDX-License-Identifier: Apache-2.0
 *
 * Connects a served model and its profiler: which requests run again, and how the scheduler learns
 * their times. All functions may be called for a model without a profiler.
 *
 * Owner: the served model. Thread: the loop's.
 */
#ifndef DAEMON_SERVE_GATEWAY_SERVED_SERVED_PROFILE_H
#define DAEMON_SERVE_GATEWAY_SERVED_SERVED_PROFILE_H

#include "daemon/serve/gateway/profile/profiler.h"
#include "daemon/serve/gateway/served/served_state.h"

/* Called once the command of the model's workers is known. `ops` are called with the served model.
 * Returns 0 or -ENOMEM. */
int served_profile_create(struct served *s, const struct profiler_ops *ops);
/* If there is a profiler, stops it and increments `stopping`; served_one_less follows. */
void served_profile_stop(struct served *s);
/* Called when the profiler has stopped for good. */
void served_profile_stopped(struct served *s);
void served_profile_destroy(struct served *s);

/* True if a run of the profiler now would coincide with a batch. */
bool served_profile_is_crowded(const struct served *s);

/* Called when a request arrives, when it is sent in a batch of `count`, and when it ends. */
void served_profile_asked(struct asked *asked);
void served_profile_sent(struct asked *asked, uint32_t count);
void served_profile_end(struct asked *asked, enum served_end end);
/* Called when a worker's batch is done: a run that waits for an idle moment may start. */
void served_profile_quiet(struct served *s);

struct profiler_counts served_profile_counts(const struct served *s);

#endif
