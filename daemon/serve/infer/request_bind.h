/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks a request against its model.
 */
#ifndef DAEMON_SERVE_INFER_REQUEST_BIND_H
#define DAEMON_SERVE_INFER_REQUEST_BIND_H

#include "daemon/serve/infer/request.h"

/* Checks that every input of the model occurs once and matches, and that every output exists in the
 * model. `version` comes from model_version. Returns 0, or -EINVAL or -ENOMEM with the error in
 * `why`; the caller finishes the request in either case. */
int request_bind(struct request *r, const struct model *m, const char *version,
                 struct refusal *why);

#endif
