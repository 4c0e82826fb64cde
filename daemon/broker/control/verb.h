/* SPDX-License-Identifier: Apache-2.0
 *
 * The control verbs: a function verb_<name> for each CTL_VERB of proto/control/ctl.def, in a file
 * named after its noun (verb_job.h).
 */
#ifndef DAEMON_BROKER_CONTROL_VERB_H
#define DAEMON_BROKER_CONTROL_VERB_H

#include "daemon/broker/control/control_request.h"

/* Calls the verb of the request. Returns 0: the reply is ready; 1: the worker was told, and
 * control_done follows; -errno. */
int verb_answer(struct control_request *q);

/* Builds the reply after the worker has carried out the request. Returns 0 or -errno. */
int verb_outcome(struct control_request *q);

#endif
