/* SPDX-License-Identifier: Apache-2.0
 *
 * The protocol's questions other than inference: what is served, and how it is. In the loop's
 * thread.
 */
#ifndef DAEMON_SERVE_HTTP_SHOW_H
#define DAEMON_SERVE_HTTP_SHOW_H

#include "daemon/serve/http/exchange.h"

/* Responds, or says in x->why why not. */
void show_route(struct exchange *x);

#endif
