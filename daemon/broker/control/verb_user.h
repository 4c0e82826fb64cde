/* SPDX-License-Identifier: Apache-2.0
 *
 * Verbs of users: their usage and their limits. Each returns as verb_answer does (verb.h).
 */
#ifndef DAEMON_BROKER_CONTROL_VERB_USER_H
#define DAEMON_BROKER_CONTROL_VERB_USER_H

#include "daemon/broker/control/control_request.h"

int verb_user_list(struct control_request *q);
int verb_user_limit(struct control_request *q);

#endif
