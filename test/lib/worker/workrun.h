/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a workload of the simulator (daemon/sim/workload/workload.h) with the real worker, in the
 * same virtual time. Each job is a client that sends what the shim would send; the device is a fake
 * one whose operations end when their time is up. Only the worker's loop and the scheduler make
 * decisions.
 *
 * A workload may have sequences of operations, with their client's actions and waits; closed loops,
 * with a fixed think time; given reservations. All jobs are in one lane, so that one job's
 * operations at a time are on the device.
 */
#ifndef TEST_LIB_WORKRUN_H
#define TEST_LIB_WORKRUN_H

#include <stdio.h>

#include "daemon/sched/sched.h"
#include "daemon/sim/workload/workload.h"

/* Runs until all jobs have left; records the scheduler's steps. Ends the test when they do not
 * leave. Jobs mark the ends of their iterations. With `gaps`, jobs with a think time do not:
 * they report that they waited, so that the worker must detect the iterations. */
void workrun(const struct workload *w, const struct policy_config *policy, bool gaps,
             FILE *recording);

#endif
