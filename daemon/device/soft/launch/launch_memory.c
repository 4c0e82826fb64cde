/* SPDX-License-Identifier: Apache-2.0
 *
 * Free lists by powers of two.
 */
#include "daemon/device/soft/launch/launch_memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* AddressSanitizer checks blocks to the byte, including free ones. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, bytes) ((void)(at), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(at, bytes) ((void)(at), (void)(bytes))
#endif

#define SMALLEST_BITS 6u /* LAUNCH_MEMORY_ALIGN */

/* Header in the first bytes of a free block. */
struct launch_free {
    struct launch_free *next;
};

static unsigned int class_of(size_t bytes) {
    unsigned int bits = bytes < 2 ? 0 : 64u - (unsigned int)__builtin_clzll(bytes - 1);
    return bits < SMALLEST_BITS ? 0 : bits - SMALLEST_BITS;
}

static size_t class_bytes(unsigned int c) {
    return (size_t)1 << (c + SMALLEST_BITS);
}

static void *take_new(size_t bytes) {
    size_t room = class_bytes(class_of(bytes));
    char *block = aligned_alloc(LAUNCH_MEMORY_ALIGN, room);
    if (block) ASAN_POISON_MEMORY_REGION(block + bytes, room - bytes);
    return block;
}

void launch_memory_init(struct launch_memory *m) {
    *m = (struct launch_memory){0};
    pthread_mutex_init(&m->lock, NULL);
}

static void free_all(struct launch_free *const lists[]) {
    for (unsigned int c = 0; c < LAUNCH_MEMORY_CLASSES; c++)
        for (struct launch_free *f = lists[c], *next; f; f = next) {
            next = f->next;
            free(f);
        }
}

void launch_memory_finish(struct launch_memory *m) {
    free_all(m->free);
    pthread_mutex_destroy(&m->lock);
}

void *launch_memory_take(struct launch_memory *m, size_t bytes) {
    unsigned int c = class_of(bytes);
    if (!m || c >= LAUNCH_MEMORY_CLASSES) return take_new(bytes);
    pthread_mutex_lock(&m->lock);
    struct launch_free *f = m->free[c];
    if (f) {
        m->free[c] = f->next;
        m->free_bytes -= class_bytes(c);
    }
    pthread_mutex_unlock(&m->lock);
    if (!f) return take_new(bytes);
    ASAN_UNPOISON_MEMORY_REGION(f, bytes);
    return f;
}

void *launch_memory_zeros(struct launch_memory *m, size_t bytes) {
    void *block = launch_memory_take(m, bytes);
    return block ? memset(block, 0, bytes) : NULL;
}

/* Takes a block back. If there are too many free blocks, most belong to a kernel that runs no more;
 * they are freed to make space for the present kernel's. */
void launch_memory_give(struct launch_memory *m, void *block, size_t bytes) {
    unsigned int c = class_of(bytes);
    struct launch_free *f = block, *old[LAUNCH_MEMORY_CLASSES];
    if (!m || !f || c >= LAUNCH_MEMORY_CLASSES) {
        free(f);
        return;
    }
    ASAN_UNPOISON_MEMORY_REGION(f, sizeof(*f));
    ASAN_POISON_MEMORY_REGION(f + 1, class_bytes(c) - sizeof(*f));
    pthread_mutex_lock(&m->lock);
    bool full = m->free_bytes + class_bytes(c) > LAUNCH_MEMORY_KEPT;
    if (full) {
        memcpy(old, m->free, sizeof(old));
        memset(m->free, 0, sizeof(m->free));
        m->free_bytes = 0;
    }
    f->next = m->free[c];
    m->free[c] = f;
    m->free_bytes += class_bytes(c);
    pthread_mutex_unlock(&m->lock);
    if (full) free_all(old);
}
