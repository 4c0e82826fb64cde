/* SPDX-License-Identifier: Apache-2.0
 *
 * Verbs of the scheduling policies. Each returns as verb_answer does (verb.h).
 */
#ifndef DAEMON_BROKER_CONTROL_VERB_POLICY_H
#define DAEMON_BROKER_CONTROL_VERB_POLICY_H

#include "daemon/broker/control/asking.h"

int verb_policy_list(struct asking *q);
int verb_policy_show(struct asking *q);
int verb_policy_set(struct asking *q);

#endif
