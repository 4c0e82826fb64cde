/* SPDX-License-Identifier: Apache-2.0
 *
 * From the headers of a request to the end of its body. In the loop's thread.
 */
#ifndef DAEMON_SERVE_HTTP_INTAKE_H
#define DAEMON_SERVE_HTTP_INTAKE_H

#include "daemon/serve/http/exchange.h"

/* Its headers are there: where it goes, or in x->why why not, and room for its body. True: it is to
 * be answered at once, without its body. */
bool intake_head(struct exchange *x, const char *method, const char *path);

/* A piece of its body; that of a request that is refused is passed over. */
void intake_piece(struct exchange *x, const char *data, size_t bytes);

/* All of it is there: the request for its model, or x->why. */
void intake_request(struct exchange *x);

/* What the path names, or NULL and x->why. */
const struct model *intake_model(struct exchange *x, const char **version);

#endif
