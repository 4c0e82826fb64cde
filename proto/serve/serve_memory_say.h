/* SPDX-License-Identifier: Apache-2.0
 *
 * Describes an error in a batch's memory, for the files of serve_memory. The caller owns the text.
 * Not thread-safe.
 */
#ifndef PROTO_SERVE_SERVE_MEMORY_SAY_H
#define PROTO_SERVE_SERVE_MEMORY_SAY_H

#include <stdint.h>

/* A clause that names the error: "tensor 3 (x): ...". */
struct serve_memory_why {
    char text[200];
};

/* Returns -EINVAL. */
int serve_memory_say(struct serve_memory_why *why, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Puts "tensor 3 (x): " before the text; without the name if `name` is NULL. Returns -EINVAL. */
int serve_memory_say_of(struct serve_memory_why *why, uint32_t index, const char *name);

#endif
