/* SPDX-License-Identifier: Apache-2.0
 *
 * Pieces of the host window that stand for pages of the program: the same memory at two addresses,
 * so that the device sees at one what the program has at the other. A page's contents move into the
 * piece when it is laid, and back when it is lifted; where in the piece is arithmetic, so that
 * neighbours which share a page have it at one place. Not thread-safe: registered.c's, under its
 * lock.
 */
#ifndef SHIM_HOST_MEMORY_SHADOW_H
#define SHIM_HOST_MEMORY_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

struct shadow {
    uint64_t lo, hi; /* pages of the program, [lo, hi): more than are laid */
    uint64_t window; /* where lo is in the window */
    uint64_t block;  /* the window's, which holds it */
    uint32_t users;
    bool worn; /* pages of the program may still be read from it: the block is kept */
    struct parked *parked;
    struct shadow *next;
};

/* That for all of [lo, hi), whole pages, made where none is; NULL: `*why`. */
struct shadow *shadow_take(uint64_t lo, uint64_t hi, const char **why);
/* Nothing of what this user had laid is so any more. */
void shadow_give(struct shadow *s);

/* Where the device has it. */
static inline uint64_t shadow_at(const struct shadow *s, uint64_t addr) {
    return addr - s->lo + s->window;
}

/* How other threads are kept from writing meanwhile: there is none that runs, signals are held back
 * here; they are not; or by the holder (hold.h) that is said instead. */
#define SHADOW_ALONE (-1)
#define SHADOW_BESIDE (-2)

/* How pages are exchanged, the caller's stack among them or not. */
struct shadow_how {
    int prot; /* of the program's pages */
    int guard;
    bool
        stack; /* the main thread's: its own pages are kept, for only they grow and are one piece */
    /* NULL, or bytes for all pages from `since_lo` on. Lifted with it, they are for a while: it has
     * what they were then, and the device keeps the piece. Laid with it, only what the program
     * changed since goes into that. */
    char *since;
    uint64_t since_lo;
};

/* Puts the piece over those of the pages that do not show it yet. `guard`: not SHADOW_BESIDE. 0, or
 * -errno: all is as it was. */
int shadow_lay(struct shadow *s, uint64_t lo, uint64_t hi, const struct shadow_how *how);

/* Makes the program's own of those that still show it. SHADOW_BESIDE loses no write either, but the
 * piece is worn. The device is done with them. What cannot be lifted stays as it is, and works. */
void shadow_lift(struct shadow *s, uint64_t lo, uint64_t hi, const struct shadow_how *how);

#endif
