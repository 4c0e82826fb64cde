/* SPDX-License-Identifier: Apache-2.0
 *
 * What the kernel says of this process's own pages (/proc/self/maps), and whether shared memory
 * could stand in for them. Any thread; what is said may be old by the time it is read, but for
 * pages that nobody else maps or unmaps.
 */
#ifndef SHIM_HOST_MEMORY_PAGES_H
#define SHIM_HOST_MEMORY_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#define PAGES_BYTES 4096ull

/* For tests: false, as before Linux 6.11, where single addresses cannot be asked about. */
extern bool pages_asks;

/* A mapping, or what of it lies in the range that was asked for. */
struct pages_part {
    uint64_t lo, hi; /* [lo, hi) */
    int prot;        /* PROT_* */
    bool shared;
    uint64_t offset;        /* of lo in the file */
    uint64_t device, inode; /* of the file; 0: none */
};

/* The first part of [lo, hi) that is a shared mapping of the file with this inode. */
bool pages_find(uint64_t lo, uint64_t hi, uint64_t inode, struct pages_part *out);

/* Whether what is mapped there is this process's alone. */
bool pages_private(uint64_t addr);

/* Whether it is mapped shared, and not of the file with this inode. */
bool pages_shared(uint64_t addr, uint64_t inode);

/* All of [lo, hi), whole pages. */
struct pages_view {
    bool readable;      /* every byte of it */
    int prot;           /* of its first page */
    uint64_t stack_end; /* lowest page of the main thread's stack, if it is there; or 0 */
    const char *unfit;  /* why shared memory cannot stand in for it; NULL: it can */
};

/* `inode`: of the file that may be mapped there shared, for it is what stands in. 0 or -errno. */
int pages_look(uint64_t lo, uint64_t hi, uint64_t inode, struct pages_view *out);

/* What every byte of [lo, hi), whole pages, may be: PROT_READ and PROT_WRITE, or PROT_NONE where
 * something is missing. 0 or -errno. */
int pages_access(uint64_t lo, uint64_t hi, int *prot);

/* What all of [lo, hi) shows, a shared mapping of whole pages that can be written: one file, in the
 * file's order. */
struct pages_file {
    uint64_t device, inode, offset; /* of lo */
    uint64_t lo, hi;                /* the first mapping of it, all of that */
};

/* NULL, or why there is none. */
const char *pages_file(uint64_t lo, uint64_t hi, struct pages_file *out);

#endif
