/* SPDX-License-Identifier: Apache-2.0
 *
 * The request before, kept for the next one: a client says the same JSON again and again, and what
 * differs is the binary data behind it. Then nothing is parsed. Owned by a connection; pure; not
 * thread-safe.
 */
#ifndef DAEMON_SERVE_INFER_AGAIN_H
#define DAEMON_SERVE_INFER_AGAIN_H

#include "daemon/serve/infer/request.h"

#define AGAIN_MAX_JSON_BYTES 4096 /* what is longer takes time elsewhere */

struct again {
    struct request request; /* of that JSON; its model is NULL where there is none */
    unsigned char *json;
    size_t json_bytes;
};

/* All zero is one that has nothing. */
void again_finish(struct again *a);

/* Whether `body` says what the request before said, to the same model and version: then `r` is as
 * request_parse and request_bind would make it, but that nothing was parsed. */
bool again_take(struct again *a, const struct request_body *body, const struct model *m,
                const char *version, struct request *r);

/* Takes over the request, which request_bind has seen and whose body is there still; or ends it,
 * where it is none that can be used again. */
void again_keep(struct again *a, struct request *r, const struct request_body *body);

#endif
