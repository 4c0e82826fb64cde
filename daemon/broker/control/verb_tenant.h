/* SPDX-License-Identifier: Apache-2.0
 *
 * Verbs of users: their usage and their limits. Each returns as verb_answer does (verb.h).
 */
#ifndef DAEMON_BROKER_CONTROL_VERB_TENANT_H
#define DAEMON_BROKER_CONTROL_VERB_TENANT_H

#include "daemon/broker/control/asking.h"

int verb_tenant_list(struct asking *q);
int verb_tenant_limit(struct asking *q);

#endif
