/* SPDX-License-Identifier: Apache-2.0
 *
 * Verbs of the daemon itself. Each returns as verb_answer does (verb.h).
 */
#ifndef DAEMON_BROKER_CONTROL_VERB_STATUS_H
#define DAEMON_BROKER_CONTROL_VERB_STATUS_H

#include "daemon/broker/control/control_request.h"

int verb_status(struct control_request *q);
int verb_version(struct control_request *q);

#endif
