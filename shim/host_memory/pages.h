/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel's information about this process's pages (/proc/self/maps), and whether shared memory
 * could replace them. Any thread. Other threads may map or unmap pages meanwhile, so a result may
 * be outdated when it is read.
 */
#ifndef SHIM_HOST_MEMORY_PAGES_H
#define SHIM_HOST_MEMORY_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#define PAGES_BYTES 4096ull

/* For tests: false behaves as before Linux 6.11, where single addresses cannot be queried. */
extern bool pages_asks;

/* A mapping, or the part of it in the requested range. */
struct pages_part {
    uint64_t lo, hi; /* [lo, hi) */
    int prot;        /* PROT_* */
    bool shared;
    uint64_t offset;        /* file offset of `lo` */
    uint64_t device, inode; /* file that is mapped; 0: none */
};

/* Finds the first part of [lo, hi) that is a shared mapping of the file with this inode. */
bool pages_find(uint64_t lo, uint64_t hi, uint64_t inode, struct pages_part *out);

/* True when the address is mapped privately. */
bool pages_private(uint64_t addr);

/* True when the address is mapped shared, from another file than the one with this inode. */
bool pages_shared(uint64_t addr, uint64_t inode);

/* A view of all of [lo, hi), whole pages. */
struct pages_view {
    bool readable;      /* every byte is readable */
    int prot;           /* protection of its first page */
    uint64_t stack_end; /* lowest page of the main thread's stack, if it is in the range; or 0 */
    const char *unfit;  /* the reason why shared memory cannot replace the range; NULL: it can */
};

/* Looks at [lo, hi). `inode`: the file of the replacing memory, which may be mapped there shared. 0
 * or -errno. */
int pages_look(uint64_t lo, uint64_t hi, uint64_t inode, struct pages_view *out);

/* Returns the access that every byte of [lo, hi), whole pages, allows: PROT_READ and PROT_WRITE, or
 * PROT_NONE where a page is missing. 0 or -errno. */
int pages_access(uint64_t lo, uint64_t hi, int *prot);

/* The file that all of [lo, hi) maps: writable shared mappings of whole pages, from one file, in
 * the file's order. */
struct pages_file {
    uint64_t device, inode, offset; /* file offset of `lo` */
    uint64_t lo, hi;                /* the whole first mapping of it */
};

/* Returns NULL, or the reason why there is no such file. */
const char *pages_file(uint64_t lo, uint64_t hi, struct pages_file *out);

#endif
