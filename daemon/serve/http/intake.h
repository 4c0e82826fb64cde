/* SPDX-License-Identifier: Apache-2.0
 *
 * Handles a request from its head to the end of its body. Thread: the loop's.
 */
#ifndef DAEMON_SERVE_HTTP_INTAKE_H
#define DAEMON_SERVE_HTTP_INTAKE_H

#include "daemon/serve/http/exchange.h"

/* Handles a complete head: finds the route or sets x->why, and allocates the body (NULL: the body
 * is discarded). Returns true if the response must not wait for the body. */
bool intake_head(struct exchange *x);

/* Called when more of the body has arrived: counts the bytes, or sets x->why and discards the
 * rest. */
void intake_count(struct exchange *x);

/* Called when all of the body has arrived: makes the request for its model, or sets x->why. */
void intake_request(struct exchange *x);

/* The model that the path names; NULL with x->why if there is none. */
const struct model *intake_model(struct exchange *x, const char **version);

#endif
