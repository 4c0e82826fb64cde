/* SPDX-License-Identifier: Apache-2.0
 *
 * What the kernel says of this process's own pages (/proc/self/maps), and whether shared memory
 * could stand in for them. Any thread; what is said may be old by the time it is read, but for
 * pages that nobody else maps or unmaps.
 */
#ifndef SHIM_MEMORY_PAGES_H
#define SHIM_MEMORY_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#define PAGES_BYTES 4096ull

/* A mapping, or what of it lies in the range that was asked for. */
struct pages_part {
    uint64_t lo, hi; /* [lo, hi) */
    int prot;        /* PROT_* */
    bool shared;
    uint64_t offset; /* of lo in the file */
    uint64_t inode;  /* 0: no file */
};

/* The first part of [lo, hi) that is a shared mapping of the file with this inode. */
bool pages_find(uint64_t lo, uint64_t hi, uint64_t inode, struct pages_part *out);

/* Whether what is mapped there is this process's alone. */
bool pages_private(uint64_t addr);

/* All of [lo, hi), whole pages. */
struct pages_view {
    bool readable, writable; /* every byte of it */
    int prot;                /* of its first page */
    uint64_t stack_end;      /* lowest page of the main thread's stack, if it is there; or 0 */
    const char *unfit;       /* why shared memory cannot stand in for it; NULL: it can */
};

/* `inode`: of the file that may be mapped there shared, for it is what stands in. 0 or -errno. */
int pages_look(uint64_t lo, uint64_t hi, uint64_t inode, struct pages_view *out);

#endif
