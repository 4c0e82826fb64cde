/* SPDX-License-Identifier: Apache-2.0
 *
 * The arena is a list of chunks from calloc, which zeroes large ones at no cost. Small requests are
 * cut from the newest chunk. A large request gets its own chunk behind the newest, so that the rest
 * of the newest is not wasted.
 */
#include "common/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_ALIGN 16u
#define ARENA_CHUNK_BYTES (64u * 1024u)
#define ARENA_LARGE_BYTES (ARENA_CHUNK_BYTES / 4)

struct chunk {
    struct chunk *next;
    size_t used, cap;
    _Alignas(ARENA_ALIGN) unsigned char bytes[];
};

struct arena {
    struct chunk *newest;
    size_t used;
};

static struct chunk *chunk_create(size_t cap) {
    struct chunk *c = calloc(1, sizeof(*c) + cap);
    if (c) c->cap = cap;
    return c;
}

struct arena *arena_create(void) {
    return calloc(1, sizeof(struct arena));
}

void arena_destroy(struct arena *a) {
    if (!a) return;
    for (struct chunk *c = a->newest, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    free(a);
}

static void *cut(struct arena *a, struct chunk *c, size_t bytes) {
    void *p = c->bytes + c->used;
    c->used += bytes;
    a->used += bytes;
    return p;
}

void *arena_alloc(struct arena *a, size_t bytes) {
    if (bytes > SIZE_MAX / 2) return NULL;
    if (bytes == 0) bytes = 1;
    bytes = (bytes + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    if (a->newest && a->newest->cap - a->newest->used >= bytes) return cut(a, a->newest, bytes);
    int large = bytes >= ARENA_LARGE_BYTES;
    struct chunk *c = chunk_create(large ? bytes : ARENA_CHUNK_BYTES);
    if (!c) return NULL;
    if (large && a->newest) {
        c->next = a->newest->next;
        a->newest->next = c;
    } else {
        c->next = a->newest;
        a->newest = c;
    }
    return cut(a, c, bytes);
}

void *arena_calloc(struct arena *a, size_t count, size_t bytes) {
    size_t total;
    return __builtin_mul_overflow(count, bytes, &total) ? NULL : arena_alloc(a, total);
}

char *arena_strndup(struct arena *a, const char *s, size_t bytes) {
    if (bytes == SIZE_MAX) return NULL;
    char *copy = arena_alloc(a, bytes + 1);
    if (copy) memcpy(copy, s, bytes); /* the arena's memory is zeroed, so a NUL follows */
    return copy;
}

char *arena_strdup(struct arena *a, const char *s) {
    return arena_strndup(a, s, strlen(s));
}

size_t arena_used(const struct arena *a) {
    return a->used;
}
