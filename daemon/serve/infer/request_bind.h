/* SPDX-License-Identifier: Apache-2.0
 *
 * A request held against its model.
 */
#ifndef DAEMON_SERVE_INFER_REQUEST_BIND_H
#define DAEMON_SERVE_INFER_REQUEST_BIND_H

#include "daemon/serve/infer/request.h"

/* Holds the request against its model: every input is there once, and as it should be, and
 * every output is one of the model's. `version` as model_version has it. 0, or -EINVAL or -ENOMEM
 * and why; the request is finished as ever. */
int request_bind(struct request *r, const struct model *m, const char *version,
                 struct refusal *why);

#endif
