/* SPDX-License-Identifier: Apache-2.0
 *
 * The new mapping is made elsewhere first, where it may fail, and then moved into place. The move
 * is one system call, which replaces the old pages under the lock that page faults need.
 */
#include "common/remap.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

static void *at(uint64_t addr) {
    return (void *)(uintptr_t)addr;
}

static void keep_private(void *p, uint64_t bytes) {
    madvise(p, bytes, MADV_DONTFORK);
    madvise(p, bytes, MADV_DONTDUMP);
}

static int move(uint64_t addr, uint64_t bytes, void *from) {
    if (from == MAP_FAILED) return -errno;
    keep_private(from, bytes);
    if (mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at(addr)) != MAP_FAILED) return 0;
    int err = -errno;
    munmap(from, bytes);
    return err;
}

int remap_file(uint64_t addr, uint64_t bytes, int fd, uint64_t offset) {
    void *p =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, (off_t)offset);
    return move(addr, bytes, p);
}

/* Makes a second mapping: mremap does so for a shared mapping if the old size is 0. */
int remap_alias(uint64_t addr, uint64_t bytes, uint64_t from) {
    return move(addr, bytes, mremap(at(from), 0, bytes, MREMAP_MAYMOVE));
}

int remap_fill(uint64_t addr, uint64_t bytes, int fd, uint64_t offset) {
    void *p = mmap(at(addr), bytes, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, fd, (off_t)offset);
    if (p == MAP_FAILED) return errno == EEXIST ? 0 : -errno;
    if (p == at(addr)) {
        keep_private(p, bytes);
        return 0;
    }
    /* A Linux kernel before 4.17 takes the address as a hint: the place is taken. */
    munmap(p, bytes);
    return 0;
}
