/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of a file that other processes map as well, shown to the device where the program has it
 * or, if the worker has something else there, in pieces of the host window, which show the same
 * pages of the file here and in the worker (docs/adr/0017-files.md). Nothing is copied and nobody
 * need hold still. The file is one that cannot shrink: a memfd with F_SEAL_SHRINK. Any thread; the
 * caller waits, and holds no lock.
 */
#ifndef SHIM_HOST_MEMORY_SHARE_H
#define SHIM_HOST_MEMORY_SHARE_H

#include <stdint.h>

struct share {
    uint64_t lo, bytes; /* pages of the program */
    uint64_t window;    /* where the device has them */
    uint64_t block;     /* the window's, which holds it; 0: it is where the program has it */
    uint32_t file;
    struct share *next; /* the caller's */
};

/* All of [lo, hi), whole pages that are a shared mapping. NULL: `*why`. */
struct share *share_show(uint64_t lo, uint64_t hi, const char **why);
/* The device is done with it. */
void share_hide(struct share *s);

static inline uint64_t share_at(const struct share *s, uint64_t addr) {
    return addr - s->lo + s->window;
}

#endif
