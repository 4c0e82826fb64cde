/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of a file that other processes map as well, mapped for the device. The device has it at
 * the program's address or, if that address is in use in the worker, in the host window. A piece of
 * the window then maps the file's pages here and in the worker (docs/adr/0017-files.md). Nothing is
 * copied and no thread has to stop. The file cannot shrink: a memfd with F_SEAL_SHRINK. Any thread;
 * the caller waits, and holds no lock.
 */
#ifndef SHIM_HOST_MEMORY_SHARE_H
#define SHIM_HOST_MEMORY_SHARE_H

#include <stdint.h>

struct share {
    uint64_t lo, bytes; /* pages of the program */
    uint64_t window;    /* address on the device */
    uint64_t block;     /* block of the window that contains it; 0: the program's own address */
    uint32_t file;      /* number of the file on the wire */
    struct share *next; /* link for the caller's use */
};

/* Maps all of [lo, hi), whole pages of shared mappings. NULL with the reason in `*why`. */
struct share *share_show(uint64_t lo, uint64_t hi, const char **why);
/* Removes the mapping; the device must have finished with it. */
void share_hide(struct share *s);

static inline uint64_t share_at(const struct share *s, uint64_t addr) {
    return addr - s->lo + s->window;
}

#endif
