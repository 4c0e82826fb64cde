/* SPDX-License-Identifier: Apache-2.0
 *
 * What the jobs of one user may have together: device memory, and operations in flight, of which
 * each job has an even part. Owner and thread: the worker's.
 */
#ifndef DAEMON_WORKER_RESIDENCY_USER_LIMITS_H
#define DAEMON_WORKER_RESIDENCY_USER_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/wire/wire.h"

struct client;
struct worker;

/* Of this user from now on. */
void user_limits_set(struct worker *w, uint32_t uid, const struct wire_limits *limits);
/* A client of this user came or went: the others' parts change. */
void user_limits_share(struct worker *w, uint32_t uid);

/* What is granted to the user's clients and their lanes, were it p and e for this one. */
uint64_t user_limits_granted(const struct client *c, uint64_t p, uint64_t e);
/* Whether that is within the limit. */
bool user_limits_allows(const struct client *c, uint64_t p, uint64_t e);

#endif
