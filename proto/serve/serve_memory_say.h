/* SPDX-License-Identifier: Apache-2.0
 *
 * What is wrong with a batch's memory, in words: the files of serve_memory say it. The text is the
 * caller's. Not thread-safe.
 */
#ifndef PROTO_SERVE_SERVE_MEMORY_SAY_H
#define PROTO_SERVE_SERVE_MEMORY_SAY_H

#include <stdint.h>

/* A clause that names it: "tensor 3 (x): ...". */
struct serve_memory_why {
    char text[200];
};

/* -EINVAL. */
int serve_memory_say(struct serve_memory_why *why, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Puts "tensor 3 (x): " in front of what was said; `name` NULL: without it. -EINVAL. */
int serve_memory_say_of(struct serve_memory_why *why, uint32_t index, const char *name);

#endif
