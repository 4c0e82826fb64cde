/* SPDX-License-Identifier: Apache-2.0
 *
 * What a connection does next: with bytes that came, an answer that was made, room in its socket.
 * In the loop's thread.
 */
#ifndef DAEMON_SERVE_HTTP_ADVANCE_H
#define DAEMON_SERVE_HTTP_ADVANCE_H

#include "daemon/serve/http/conn.h"

struct exchange;
struct front;

/* Takes the next connection of the front's listener. 0; -ENOMEM: it was not taken. */
int advance_accept(struct front *f);

/* A request that waited has its response. What its client sent behind it is looked at in the loop's
 * next turn: whoever answers is not asked within that. */
void advance_answered(struct exchange *x);

/* For clients that hung up while they wait and have sent more behind their request than is read:
 * the loop does not see these. To be called now and then. */
void advance_look(struct front *f);

/* Closes a connection; whoever serves its request is told so, if somebody does. For conns. */
void advance_shut(struct conn *c);

#endif
