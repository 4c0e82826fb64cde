/* SPDX-License-Identifier: Apache-2.0
 *
 * Verbs of GPUs and of their lanes. Each returns as verb_answer does (verb.h).
 */
#ifndef DAEMON_BROKER_CONTROL_VERB_GPU_H
#define DAEMON_BROKER_CONTROL_VERB_GPU_H

#include "daemon/broker/control/asking.h"

int verb_gpu_list(struct asking *q);
int verb_gpu_show(struct asking *q);
int verb_gpu_retry(struct asking *q);
int verb_lane_list(struct asking *q);
int verb_lane_show(struct asking *q);

#endif
