/* SPDX-License-Identifier: Apache-2.0
 *
 * Pieces of the host window that replace pages of the program: the same memory at two addresses,
 * one for the device and one for the program. Laying moves a page's contents into the piece;
 * lifting moves them back. A page's position in the piece is arithmetic, so neighbours that share a
 * page agree on it. Not thread-safe: registered.c calls it under its lock.
 */
#ifndef SHIM_HOST_MEMORY_SHADOW_H
#define SHIM_HOST_MEMORY_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

struct shadow {
    uint64_t lo, hi; /* pages of the program, [lo, hi): more than are replaced */
    uint64_t window; /* address of `lo` in the window */
    uint64_t block;  /* block of the window that contains it */
    uint32_t users;  /* registered ranges with pages in it */
    bool worn;       /* pages of the program may still be read from it, so the block is not freed */
    struct parked *parked;
    struct shadow *next;
};

/* Returns the shadow for all of [lo, hi), whole pages, which it creates if needed. NULL with the
 * reason in `*why`. */
struct shadow *shadow_take(uint64_t lo, uint64_t hi, const char **why);
/* Ends one use. None of this user's pages is replaced any more. */
void shadow_give(struct shadow *s);

/* The address on the device. */
static inline uint64_t shadow_at(const struct shadow *s, uint64_t addr) {
    return addr - s->lo + s->window;
}

/* How other threads are kept from writing meanwhile. SHADOW_ALONE: none of them runs, and signals
 * are blocked. SHADOW_BESIDE: they are not kept from it. Any other value: the descriptor of a hold
 * (page_block.h). */
#define SHADOW_ALONE (-1)
#define SHADOW_BESIDE (-2)

/* How pages are exchanged; the caller's stack may be among them. */
struct shadow_how {
    int prot; /* protection of the program's pages */
    int guard;
    /* The pages are of the main thread's stack. They are stored, for only the original mapping
     * grows and is in one piece. */
    bool stack;
    /* NULL, or the bytes of all pages from `since_lo` on. Lifting with it is temporary: it gets the
     * contents of that moment, and the device keeps the piece. Laying with it copies only those
     * bytes that the program has changed since. */
    char *since;
    uint64_t since_lo;
};

/* Replaces those of the pages that are not replaced yet. `guard`: not SHADOW_BESIDE. 0, or -errno
 * with nothing changed. */
int shadow_lay(struct shadow *s, uint64_t lo, uint64_t hi, const struct shadow_how *how);

/* Returns those pages to the program that are replaced. SHADOW_BESIDE loses no write either, but
 * wears the piece out. The device has finished with the pages. Pages that cannot be returned stay
 * as they are, and work. */
void shadow_lift(struct shadow *s, uint64_t lo, uint64_t hi, const struct shadow_how *how);

#endif
