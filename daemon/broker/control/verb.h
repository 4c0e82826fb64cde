/* SPDX-License-Identifier: Apache-2.0
 *
 * The control verbs: for each CTL_VERB of proto/control/ctl.def one function verb_<name>, in a file
 * by its noun (verb_job.h).
 */
#ifndef DAEMON_BROKER_CONTROL_VERB_H
#define DAEMON_BROKER_CONTROL_VERB_H

#include "daemon/broker/control/asking.h"

/* Answers by the verb that the request names. 0: the reply is there; 1: the worker was told,
 * control_done comes later; -errno. */
int verb_answer(struct asking *q);

/* The worker did what the request told it: what has become of it. 0 or -errno. */
int verb_outcome(struct asking *q);

#endif
