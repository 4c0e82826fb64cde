/* SPDX-License-Identifier: Apache-2.0
 *
 * Verbs of kernel profiles. Each returns as verb_answer does (verb.h).
 */
#ifndef DAEMON_BROKER_CONTROL_VERB_PROFILE_H
#define DAEMON_BROKER_CONTROL_VERB_PROFILE_H

#include "daemon/broker/control/control_request.h"

int verb_profile_list(struct control_request *q);
int verb_profile_show(struct control_request *q);
int verb_profile_hints(struct control_request *q);
int verb_profile_import(struct control_request *q);
int verb_profile_export(struct control_request *q);
int verb_profile_forget(struct control_request *q);

#endif
