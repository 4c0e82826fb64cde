/* SPDX-License-Identifier: Apache-2.0
 *
 * Raises a client's credit by what the scheduler grants to its requests (memory_ask.h), within the
 * limit of its user.
 *
 * Owner: the client. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_RESIDENCY_CREDIT_GROWTH_H
#define DAEMON_WORKER_RESIDENCY_CREDIT_GROWTH_H

#include <stdbool.h>

#include "daemon/sched/sched.h"

struct client;
struct memory_ask;

/* Takes a posted request off its list. True: the scheduler must be asked for p and e. False: no
 * need to ask, because the client has the memory by now, may have no more of it, or is dead. */
bool credit_growth_begin(struct memory_ask *a);
/* Applies the scheduler's action: GRANT, DENY or WAIT. The request that the scheduler was told of
 * gets the first answer; a later answer goes to the request that waits. */
void credit_growth_answer(struct client *c, enum sched_action_kind answer);

#endif
