/* SPDX-License-Identifier: Apache-2.0
 *
 * A bump arena: many small allocations that are freed together (a parsed module, a config). Memory
 * is zeroed and aligned to 16 bytes. All of it belongs to the arena. Not thread-safe.
 */
#ifndef COMMON_ARENA_H
#define COMMON_ARENA_H

#include <stddef.h>

struct arena;

/* Returns NULL when out of memory. */
struct arena *arena_create(void);

/* Frees everything that was allocated from it; accepts NULL. */
void arena_destroy(struct arena *a);

/* Return NULL when out of memory or when the size overflows; the arena stays usable. Zero bytes
 * give a unique, valid pointer. */
void *arena_alloc(struct arena *a, size_t bytes);
void *arena_calloc(struct arena *a, size_t count, size_t bytes);

/* Copy a string, or `bytes` bytes of one with a NUL added. */
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t bytes);

/* Bytes handed out, padding included: a bound on the memory that hostile input made the arena
 * take. */
size_t arena_used(const struct arena *a);

#endif
