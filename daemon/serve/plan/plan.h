/* SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler of a served model as a pure step function: which of the pending requests go into
 * the next batch, and which cannot be served in time any more (thesis, chapter 4: Orloj). No clock,
 * no threads, no system call: time arrives with the events, the answer is a list of actions that
 * the caller must carry out in order. The daemon, the tests and the simulator run this same object
 * code; events are values, so that the same events give the same actions, on every machine.
 *
 * A model has workers, which take one batch at a time, of one of its sizes; and applications, which
 * send requests whose times alone are distributed alike. Times alone are learnt (ALONE, DONE), and
 * so is what a batch takes beside them. Which requests go is decided by a policy (plan_policy.h).
 *
 * Every request that ARRIVED is answered once: by SEND, TIMEOUT or REFUSE, unless it was CANCELLED.
 * After SEND it is its batch's, until DONE; only when its worker is LOST it is pending again.
 *
 * An event that cannot be is a caller's bug. It changes nothing and is answered by REJECT, which
 * says why; all other events of the step count.
 *
 * Owner: who created it. Thread: its owner's.
 */
#ifndef DAEMON_SERVE_PLAN_PLAN_H
#define DAEMON_SERVE_PLAN_PLAN_H

#include "daemon/serve/plan/plan_create.h"
#include "daemon/serve/plan/plan_step.h"
#include "daemon/serve/plan/plan_view.h"
#include "daemon/serve/plan/policy/plan_policies.h"
#include "daemon/serve/plan/types/plan_types.h"

#endif
