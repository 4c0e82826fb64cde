/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory that carries a batch to a model's program, and its answers back (serve_wire.h): made
 * of tensors, and read as what a stranger wrote. Whoever opens one owns it. Not thread-safe.
 */
#ifndef PROTO_SERVE_SERVE_MEMORY_H
#define PROTO_SERVE_SERVE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "proto/serve/serve_memory_check.h"
#include "proto/serve/serve_memory_say.h"
#include "proto/serve/serve_wire.h"

/* Tensors of one name, which are neighbours in the table, by request. */
struct serve_memory_group {
    uint32_t first, count;
};

struct serve_memory {
    const void *map; /* NULL: the bytes are somebody else's */
    uint64_t map_bytes;
    unsigned char *own; /* the table and the names, as they were checked; of a copy all of it */
    uint32_t requests, tensors_count, groups_count;
    struct serve_memory_tensor *tensors; /* names in `own`, data in the map; in the table's order */
    struct serve_memory_group groups[SERVE_WIRE_MAX_NAMES];
};

/* Maps such memory, which may be anything: 0, -EINVAL or another -errno and why; then there is
 * nothing to finish. The descriptor stays the caller's and is not needed further. `bytes`: what the
 * message said. */
int serve_memory_open(struct serve_memory *m, int fd, uint64_t bytes, struct serve_memory_why *why);

/* The same of bytes that stay where they are for as long as `m`, at a multiple of 64. */
int serve_memory_read(struct serve_memory *m, const void *data, uint64_t bytes,
                      struct serve_memory_why *why);
/* The same of bytes that need not stay, and may lie anywhere. */
int serve_memory_copy(struct serve_memory *m, const void *data, uint64_t bytes,
                      struct serve_memory_why *why);
void serve_memory_finish(struct serve_memory *m);

/* NULL: there is none. */
const struct serve_memory_group *serve_memory_find(const struct serve_memory *m, const char *name);
const struct serve_memory_tensor *serve_memory_get(const struct serve_memory *m, uint32_t request,
                                                   const char *name);

#endif
