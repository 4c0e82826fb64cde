/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's credit grows by what the scheduler grants to its requests (memory_ask.h), within the
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

/* Takes a posted request off its list. True: the scheduler is to be asked for p and e. False: it is
 * decided without, because its client has the memory by now, may have no more of it, or is dead. */
bool credit_growth_begin(struct memory_ask *a);
/* The scheduler's action: GRANT, DENY or WAIT. The request that is told has the first answer;
 * another one is to the request that waits. */
void credit_growth_answer(struct client *c, enum sched_action_kind answer);

#endif
