/* SPDX-License-Identifier: Apache-2.0
 *
 * slack as it was before it had queues of its own (daemon/sched/policy/candidate_queue.h): the
 * model beside which those are tested.
 */
#ifndef TEST_LIB_SLACKSCAN_H
#define TEST_LIB_SLACKSCAN_H

#include "daemon/sched/policy/policy.h"

extern const struct policy slackscan;

#endif
