/* SPDX-License-Identifier: Apache-2.0
 *
 * A copy of what a request asks, to be run again when the request is gone: its inputs with their
 * names and data, in one block. Whoever has it frees it with sample_destroy. Any one thread.
 */
#ifndef DAEMON_SERVE_GATEWAY_PROFILE_SAMPLE_H
#define DAEMON_SERVE_GATEWAY_PROFILE_SAMPLE_H

#include <stddef.h>

#include "daemon/serve/infer/tensor.h"

struct sample {
    uint32_t app;   /* as the scheduler knows it */
    uint32_t count; /* inputs */
    uint64_t age;   /* in the order in which samples were made */
    size_t bytes;   /* of the block */
    struct tensor inputs[];
};

/* Of the block that a copy would be. */
size_t sample_size(const struct tensor *inputs, uint32_t count);
/* NULL: no memory. */
struct sample *sample_create(const struct tensor *inputs, uint32_t count, uint32_t app);
void sample_destroy(struct sample *s); /* accepts NULL */

#endif
