/* SPDX-License-Identifier: Apache-2.0
 *
 * Sends messages to a model's program. No state. Thread: the loop's.
 */
#ifndef DAEMON_SERVE_WORKER_BATCH_H
#define DAEMON_SERVE_WORKER_BATCH_H

#include "daemon/serve/infer/tensor.h"
#include "proto/serve/serve_memory.h"

/* The inputs of one request. */
struct batch_request {
    const struct tensor *inputs;
    uint32_t count;
};

/* Both return 0 or -errno. */
int batch_send_word(int sock, enum serve_wire_kind kind);
int batch_send(int sock, uint64_t number, const struct batch_request *requests, uint32_t count,
               struct serve_memory_why *why);

#endif
