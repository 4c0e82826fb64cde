/* SPDX-License-Identifier: Apache-2.0
 *
 * A workload of the simulator (daemon/sim/workload/workload.h) run by the real worker, in the same
 * virtual time: each job is a client that says what the shim would say, the device is a fake one
 * whose operations end when their time is up. Only the worker's loop and the scheduler decide
 * anything.
 *
 * A workload may say here: sequences of operations, with what their client does and waits
 * for; closed loops, with a fixed time to think; given needs. All jobs are of one lane, so that the
 * operations of one job at a time are on the device.
 */
#ifndef TEST_LIB_WORKRUN_H
#define TEST_LIB_WORKRUN_H

#include <stdio.h>

#include "daemon/sched/sched.h"
#include "daemon/sim/workload/workload.h"

/* Until all jobs have left: a recording of the scheduler's steps. Ends the test when they do not.
 * Jobs mark the ends of their iterations. With `gaps`, those that think do not: they say that they
 * waited, so that the worker has to find out. */
void workrun(const struct workload *w, const struct policy_config *policy, bool gaps,
             FILE *recording);

#endif
