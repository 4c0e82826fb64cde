/* SPDX-License-Identifier: Apache-2.0
 *
 * Recordings of the scheduler's events. Returns as verb_answer does (verb.h).
 */
#ifndef DAEMON_BROKER_CONTROL_VERB_EVENTS_H
#define DAEMON_BROKER_CONTROL_VERB_EVENTS_H

#include "daemon/broker/control/control_request.h"

int verb_events_record(struct control_request *q);

#endif
