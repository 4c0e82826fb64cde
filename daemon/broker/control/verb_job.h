/* SPDX-License-Identifier: Apache-2.0
 *
 * Verbs of jobs, running and ended. Each returns as verb_answer does (verb.h).
 */
#ifndef DAEMON_BROKER_CONTROL_VERB_JOB_H
#define DAEMON_BROKER_CONTROL_VERB_JOB_H

#include "daemon/broker/control/control_request.h"

int verb_job_list(struct control_request *q);
int verb_job_show(struct control_request *q);
int verb_history_list(struct control_request *q);
int verb_job_set(struct control_request *q);
int verb_job_pause(struct control_request *q);
int verb_job_resume(struct control_request *q);
int verb_job_kill(struct control_request *q);

#endif
