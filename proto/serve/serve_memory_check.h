/* SPDX-License-Identifier: Apache-2.0
 *
 * A tensor, and the rules that every writer must keep. Not thread-safe.
 */
#ifndef PROTO_SERVE_SERVE_MEMORY_CHECK_H
#define PROTO_SERVE_SERVE_MEMORY_CHECK_H

#include <stdint.h>

#include "proto/serve/datatype.h"
#include "proto/serve/serve_memory_say.h"
#include "proto/serve/serve_wire.h"

struct serve_memory_tensor {
    uint32_t request;
    const char *name;
    enum datatype type;
    uint32_t rank;
    int64_t shape[SERVE_WIRE_MAX_RANK];
    const void *data;
    uint64_t bytes;
};

/* Checks that name, datatype, shape and bytes agree, and the lengths of BYTES elements. Returns 0,
 * or -EINVAL and why. */
int serve_memory_check(const struct serve_memory_tensor *t, struct serve_memory_why *why);

#endif
