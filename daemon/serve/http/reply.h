/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests that are with whoever serves their models: the other side of front_ops.h. In the loop's
 * thread.
 */
#ifndef DAEMON_SERVE_HTTP_REPLY_H
#define DAEMON_SERVE_HTTP_REPLY_H

#include "daemon/serve/http/exchange.h"

/* Hands x->request over. What is not answered within the call waits, suspended, or is gone. */
void reply_ask(struct exchange *x);

/* Whoever hung up: requests of theirs that wait are gone. */
void reply_look(struct front *f);

#endif
