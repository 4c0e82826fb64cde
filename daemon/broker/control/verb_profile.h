/* SPDX-License-Identifier: Apache-2.0
 *
 * Verbs of kernel profiles. Each returns as verb_answer does (verb.h).
 */
#ifndef DAEMON_BROKER_CONTROL_VERB_PROFILE_H
#define DAEMON_BROKER_CONTROL_VERB_PROFILE_H

#include "daemon/broker/control/asking.h"

int verb_profile_list(struct asking *q);
int verb_profile_show(struct asking *q);
int verb_profile_hints(struct asking *q);
int verb_profile_import(struct asking *q);
int verb_profile_export(struct asking *q);
int verb_profile_forget(struct asking *q);

#endif
