/* SPDX-License-Identifier: Apache-2.0
 *
 * The connection's previous request, stored because clients often repeat the same JSON with other
 * binary data. Such a request is not parsed again. Owner: a connection. Pure; not thread-safe.
 */
#ifndef DAEMON_SERVE_INFER_PREVIOUS_REQUEST_H
#define DAEMON_SERVE_INFER_PREVIOUS_REQUEST_H

#include "daemon/serve/infer/request.h"

#define PREVIOUS_REQUEST_MAX_JSON_BYTES \
    4096 /* for longer JSON, parsing is not what takes the time */

struct previous_request {
    struct request request; /* made from `json`; its model is NULL if there is no request */
    unsigned char *json;
    size_t json_bytes;
};

/* An empty struct is all zeroes. */
void previous_request_finish(struct previous_request *a);

/* Tests whether `body` has the same JSON as the previous request, for the same model and version.
 * If so, `r` is filled as request_parse and request_bind would, without parsing. */
bool previous_request_take(struct previous_request *a, const struct request_body *body,
                           const struct model *m, const char *version, struct request *r);

/* Takes over a bound request whose body is still present; frees the request if it cannot be
 * reused. */
void previous_request_keep(struct previous_request *a, struct request *r,
                           const struct request_body *body);

#endif
