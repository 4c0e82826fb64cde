/* SPDX-License-Identifier: Apache-2.0
 *
 * The answer of a model's program to a batch, checked: outputs by request, whose names and data are
 * in it. Whoever is given one destroys it. Any one thread.
 */
#ifndef DAEMON_SERVE_WORKER_RESULT_H
#define DAEMON_SERVE_WORKER_RESULT_H

#include "daemon/serve/infer/tensor.h"
#include "proto/serve/serve_message.h"

struct result {
    struct serve_memory memory;
    struct tensor *tensors; /* by request */
    uint32_t *first;        /* of each request in `tensors`, and behind the last */
};

/* Of a batch of `requests`; neither message nor descriptor is needed any more. 0; -EINVAL: it is
 * not what it should be; or another -errno; and why. */
int result_create(struct result **out, const struct serve_message *msg, int fd, uint32_t requests,
                  struct serve_memory_why *why);
void result_destroy(struct result *r);

/* Those of a request, which may be none. */
const struct tensor *result_outputs(const struct result *r, uint32_t request, uint32_t *count);

#endif
