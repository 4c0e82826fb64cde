/* SPDX-License-Identifier: Apache-2.0
 *
 * Verbs of GPUs and of their lanes. Each returns as verb_answer does (verb.h).
 */
#ifndef DAEMON_BROKER_CONTROL_VERB_GPU_H
#define DAEMON_BROKER_CONTROL_VERB_GPU_H

#include "daemon/broker/control/control_request.h"

int verb_gpu_list(struct control_request *q);
int verb_gpu_show(struct control_request *q);
int verb_gpu_retry(struct control_request *q);
int verb_lane_list(struct control_request *q);
int verb_lane_show(struct control_request *q);

#endif
