/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory that carries a batch to a model's program, and its answers back (serve_wire.h). It is
 * made from tensors, and read as untrusted input. The caller that opens one owns it. Not
 * thread-safe.
 */
#ifndef PROTO_SERVE_SERVE_MEMORY_H
#define PROTO_SERVE_SERVE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "proto/serve/serve_memory_check.h"
#include "proto/serve/serve_memory_say.h"
#include "proto/serve/serve_wire.h"

/* Tensors of one name, consecutive in the table, in order of request. */
struct serve_memory_group {
    uint32_t first, count;
};

struct serve_memory {
    const void *map; /* NULL: the bytes belong to the caller */
    uint64_t map_bytes;
    unsigned char *own; /* the checked table and names; after a copy everything */
    uint32_t requests, tensors_count, groups_count;
    struct serve_memory_tensor *tensors; /* names in `own`, data in the map; in the table's order */
    struct serve_memory_group groups[SERVE_WIRE_MAX_NAMES];
};

/* Maps such a memory, which may contain anything. Returns 0, or -EINVAL or another -errno and why;
 * after an error there is nothing to finish. The caller keeps the descriptor, which is not needed
 * further. `bytes`: the size that the message gave. */
int serve_memory_open(struct serve_memory *m, int fd, uint64_t bytes, struct serve_memory_why *why);

/* The same for bytes that stay in place as long as `m`, at a multiple of 64. */
int serve_memory_read(struct serve_memory *m, const void *data, uint64_t bytes,
                      struct serve_memory_why *why);
/* The same for bytes that need not stay, and may have any alignment. */
int serve_memory_copy(struct serve_memory *m, const void *data, uint64_t bytes,
                      struct serve_memory_why *why);
void serve_memory_finish(struct serve_memory *m);

/* Return NULL if there is none. */
const struct serve_memory_group *serve_memory_find(const struct serve_memory *m, const char *name);
const struct serve_memory_tensor *serve_memory_get(const struct serve_memory *m, uint32_t request,
                                                   const char *name);

#endif
