/* SPDX-License-Identifier: Apache-2.0
 *
 * A checked answer to a batch: outputs by request, including their names and data. The holder
 * destroys it. One thread at a time.
 */
#ifndef DAEMON_SERVE_WORKER_RESULT_H
#define DAEMON_SERVE_WORKER_RESULT_H

#include "daemon/serve/infer/tensor.h"
#include "proto/serve/serve_message.h"

struct result {
    struct serve_memory memory;
    struct tensor *tensors; /* sorted by request */
    uint32_t *first; /* index of each request's first tensor, and one more entry for the end */
};

/* Parses the answer to a batch of `requests`; message and descriptor are not needed afterwards.
 * Returns 0, -EINVAL for an invalid answer, or another -errno, with the reason in `why`. */
int result_create(struct result **out, const struct serve_message *msg, int fd, uint32_t requests,
                  struct serve_memory_why *why);
void result_destroy(struct result *r);

/* The outputs of one request; there may be none. */
const struct tensor *result_outputs(const struct result *r, uint32_t request, uint32_t *count);

#endif
