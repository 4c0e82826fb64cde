/* SPDX-License-Identifier: Apache-2.0
 *
 * The writer of a batch's memory (serve_memory.h). Not thread-safe.
 */
#ifndef PROTO_SERVE_SERVE_MEMORY_MAKE_H
#define PROTO_SERVE_SERVE_MEMORY_MAKE_H

#include <stdint.h>

#include "proto/serve/serve_memory_check.h"
#include "proto/serve/serve_memory_say.h"

/* Makes a memory from tensors in any order. Returns a descriptor with all seals, owned by the
 * caller, and sets *bytes to the size; or -errno and why. A tensor that is invalid
 * (serve_memory_check), there twice, or one too many gives -EINVAL. */
int serve_memory_make(const struct serve_memory_tensor *tensors, uint32_t count, uint32_t requests,
                      uint64_t *bytes, struct serve_memory_why *why);

/* A memory to be sent: a small one as bytes after the space for its message, a larger one as a
 * descriptor. A zeroed struct is empty. The caller of serve_memory_pack finishes it. */
struct serve_memory_parcel {
    unsigned char *message; /* NULL: it is a descriptor */
    int fd;                 /* -1: it is bytes */
    uint64_t bytes;
};

/* As serve_memory_make. Returns 0, or -errno and why; after an error there is nothing to finish. */
int serve_memory_pack(struct serve_memory_parcel *out, const struct serve_memory_tensor *tensors,
                      uint32_t count, uint32_t requests, struct serve_memory_why *why);
/* Turns bytes into a descriptor, for a socket that rejects such a long message. Returns 0 or
 * -errno. */
int serve_memory_parcel_close(struct serve_memory_parcel *p);
void serve_memory_parcel_finish(struct serve_memory_parcel *p);

#endif
