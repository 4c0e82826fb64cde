/* SPDX-License-Identifier: Apache-2.0
 *
 * A copy of a request's inputs, with names and data in one block, to run the request again later.
 * The holder frees it with sample_destroy. One thread at a time.
 */
#ifndef DAEMON_SERVE_GATEWAY_PROFILE_SAMPLE_H
#define DAEMON_SERVE_GATEWAY_PROFILE_SAMPLE_H

#include <stddef.h>

#include "daemon/serve/infer/tensor.h"

struct sample {
    uint32_t app;   /* the scheduler's number of the application */
    uint32_t count; /* number of inputs */
    uint64_t age;   /* sequence number: an older sample has a lower one */
    size_t bytes;   /* size of the block */
    struct tensor inputs[];
};

/* The size of the block that a copy would need. */
size_t sample_size(const struct tensor *inputs, uint32_t count);
/* NULL if memory is short. */
struct sample *sample_create(const struct tensor *inputs, uint32_t count, uint32_t app);
void sample_destroy(struct sample *s); /* accepts NULL */

#endif
