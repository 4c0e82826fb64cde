/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler of a served model as a pure step function: decides which pending requests form the
 * next batch, and which can no longer meet their deadline (thesis, chapter 4: Orloj). It uses no
 * clock, no threads and no system call. Time arrives with the events. The answer is a list of
 * actions that the caller must carry out in order. The daemon, the tests and the simulator run the
 * same object code; the same events give the same actions on every machine.
 *
 * A model has workers, which take one batch at a time, of one of its sizes. It has applications:
 * requests of one application have the same distribution of times alone. Times alone (ALONE, DONE)
 * and the durations of batches are learnt. A policy (plan_policy.h) chooses the requests.
 *
 * Every request that ARRIVED is answered once, by SEND, TIMEOUT or REFUSE, unless it was CANCELLED.
 * After SEND it belongs to its batch until DONE; if its worker is LOST, it becomes pending again.
 *
 * An invalid event is a bug of the caller. It changes nothing and is answered by REJECT with the
 * reason; all other events of the step apply.
 *
 * Owner: the caller of plan_create. Thread: its owner's.
 */
#ifndef DAEMON_SERVE_PLAN_PLAN_H
#define DAEMON_SERVE_PLAN_PLAN_H

#include "daemon/serve/plan/plan_create.h"
#include "daemon/serve/plan/plan_step.h"
#include "daemon/serve/plan/plan_view.h"
#include "daemon/serve/plan/policy/plan_policies.h"
#include "daemon/serve/plan/types/plan_types.h"

#endif
