/* SPDX-License-Identifier: Apache-2.0
 *
 * The writer of a batch's memory (serve_memory.h). Not thread-safe.
 */
#ifndef PROTO_SERVE_SERVE_MEMORY_MAKE_H
#define PROTO_SERVE_SERVE_MEMORY_MAKE_H

#include <stdint.h>

#include "proto/serve/serve_memory_check.h"
#include "proto/serve/serve_memory_say.h"

/* Any order; what is no sound tensor (serve_memory_check), is there twice or too many is refused
 * with -EINVAL and why. Returns a descriptor, the caller's, with all seals; *bytes becomes what is
 * in it; or -errno with why. */
int serve_memory_make(const struct serve_memory_tensor *tensors, uint32_t count, uint32_t requests,
                      uint64_t *bytes, struct serve_memory_why *why);

/* A memory on its way: a small one as bytes behind room for the message that it goes with, a larger
 * one as a descriptor. Zeroes are none; whoever packs one finishes it. */
struct serve_memory_parcel {
    unsigned char *message; /* NULL: it is a descriptor */
    int fd;                 /* -1: it is bytes */
    uint64_t bytes;
};

/* As serve_memory_make: 0, or -errno and why; then there is nothing to finish. */
int serve_memory_pack(struct serve_memory_parcel *out, const struct serve_memory_tensor *tensors,
                      uint32_t count, uint32_t requests, struct serve_memory_why *why);
/* Turns bytes into a descriptor, for a socket that takes no such message. 0 or -errno. */
int serve_memory_parcel_close(struct serve_memory_parcel *p);
void serve_memory_parcel_finish(struct serve_memory_parcel *p);

#endif
