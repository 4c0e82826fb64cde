/* SPDX-License-Identifier: Apache-2.0
 *
 * The control socket: one msgpack request, one reply, in order, any number of times.
 *
 * Owner: struct server. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_CONTROL_CONTROL_H
#define DAEMON_BROKER_CONTROL_CONTROL_H

#include "daemon/broker/broker.h"
#include "proto/control/ctl.h"

struct control; /* a connection */

struct controls {
    struct list list; /* connections in the order of their latest requests */
    unsigned count;
    struct broker *broker;
};

void control_accept(struct controls *all, int fd);
/* Refuses a connection with the reason, and closes it. */
void control_turn_away(int fd, enum ctl_error error, const char *text, const char *hint);
/* Answers the pending request of this connection. `result`: 0, or negative with the reason in
 * `text`. */
void control_done(struct control *c, int result, const char *text);
void control_stop(struct controls *all); /* closes all connections */

#endif
