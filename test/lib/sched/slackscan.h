/* SPDX-License-Identifier: Apache-2.0
 *
 * The slack policy as it was before it had queues of its own
 * (daemon/sched/policy/candidate_queue.h): a model for the tests of those queues.
 */
#ifndef TEST_LIB_SLACKSCAN_H
#define TEST_LIB_SLACKSCAN_H

#include "daemon/sched/policy/policy.h"

extern const struct policy slackscan;

#endif
