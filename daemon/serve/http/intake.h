/* SPDX-License-Identifier: Apache-2.0
 *
 * From the head of a request to the end of its body. In the loop's thread.
 */
#ifndef DAEMON_SERVE_HTTP_INTAKE_H
#define DAEMON_SERVE_HTTP_INTAKE_H

#include "daemon/serve/http/exchange.h"

/* Its head is there: where it goes, or in x->why why not, and room for its body, NULL where that is
 * passed over. True: it is to be answered at once, without its body. */
bool intake_head(struct exchange *x);

/* More of its body has come: the front counts that, or x->why, and the rest is passed over. */
void intake_count(struct exchange *x);

/* All of it is there: the request for its model, or x->why. */
void intake_request(struct exchange *x);

/* What the path names, or NULL and x->why. */
const struct model *intake_model(struct exchange *x, const char **version);

#endif
