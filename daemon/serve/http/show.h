/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers the endpoints other than inference: lists and states of what is served. Thread: the
 * loop's.
 */
#ifndef DAEMON_SERVE_HTTP_SHOW_H
#define DAEMON_SERVE_HTTP_SHOW_H

#include "daemon/serve/http/exchange.h"

/* Responds, or sets x->why. */
void show_route(struct exchange *x);

#endif
