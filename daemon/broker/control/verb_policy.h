/* SPDX-License-Identifier: Apache-2.0
 *
 * Verbs of the scheduling policies. Each returns as verb_answer does (verb.h).
 */
#ifndef DAEMON_BROKER_CONTROL_VERB_POLICY_H
#define DAEMON_BROKER_CONTROL_VERB_POLICY_H

#include "daemon/broker/control/control_request.h"

int verb_policy_list(struct control_request *q);
int verb_policy_show(struct control_request *q);
int verb_policy_set(struct control_request *q);

#endif
