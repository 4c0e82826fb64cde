/* SPDX-License-Identifier: Apache-2.0
 *
 * Verbs of the daemon itself. Each returns as verb_answer does (verb.h).
 */
#ifndef DAEMON_BROKER_CONTROL_VERB_STATUS_H
#define DAEMON_BROKER_CONTROL_VERB_STATUS_H

#include "daemon/broker/control/asking.h"

int verb_status(struct asking *q);
int verb_version(struct asking *q);

#endif
