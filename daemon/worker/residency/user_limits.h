/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits of all jobs of one user together: device memory, and operations in flight, which the jobs
 * share evenly. Owner and thread: the worker's.
 */
#ifndef DAEMON_WORKER_RESIDENCY_USER_LIMITS_H
#define DAEMON_WORKER_RESIDENCY_USER_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/wire/wire.h"

struct client;
struct worker;

/* Sets the limits of this user. */
void user_limits_set(struct worker *w, uint32_t uid, const struct wire_limits *limits);
/* A client of this user came or went: the others' shares change. */
void user_limits_share(struct worker *w, uint32_t uid);

/* Memory granted to the user's clients and their lanes, if this client's grant were p and e. */
uint64_t user_limits_granted(const struct client *c, uint64_t p, uint64_t e);
/* True when user_limits_granted for p and e is within the limit, or the user has none. */
bool user_limits_allows(const struct client *c, uint64_t p, uint64_t e);

#endif
