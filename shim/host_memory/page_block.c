/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves pages rather than copying them, because the kernel refuses to move a page that a device is
 * writing. The target is registered with the same descriptor, as the kernel requires. No thread
 * reads the faults: a waiting thread is woken by range.
 */
#include "shim/host_memory/page_block.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Constants of newer kernel headers. */
#ifndef USERFAULTFD_IOC_NEW
#define USERFAULTFD_IOC_NEW _IO(0xaa, 0x00)
#endif
#define FEATURE_WP_SHARED (1ull << 12)
#define FEATURE_MOVE (1ull << 16)
#define MOVE_HOLES (1ull << 1)

struct uffd_move {
    uint64_t dst, src, len, mode;
    int64_t moved;
};
#define UFFD_MOVE _IOWR(0xaa, 0x05, struct uffd_move)

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static void *at(uint64_t addr) {
    return (void *)(uintptr_t)addr;
}

/* ---- the descriptor -------------------------------------------------------------------------- */

/* Opens the device file, for processes that may not make the system call: the file's mode says who
 * may. */
static int open_file(void) {
    int device = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
    if (device < 0) return -errno;
    int fd = ioctl(device, USERFAULTFD_IOC_NEW, O_CLOEXEC), err = -errno;
    close(device);
    return fd < 0 ? err : fd;
}

int page_block_open(void) {
    struct uffdio_api api = {.api = UFFD_API, .features = FEATURE_MOVE | FEATURE_WP_SHARED};
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    if (fd < 0) fd = open_file();
    if (fd < 0 || ioctl(fd, UFFDIO_API, &api) == 0) return fd;
    close(fd);
    return -ENOTSUP;
}

void page_block_close(int holder) {
    close(holder);
}

static int watch(int holder, uint64_t addr, uint64_t bytes, uint64_t mode) {
    struct uffdio_register reg = {.range = {addr, bytes}, .mode = mode};
    return ioctl(holder, UFFDIO_REGISTER, &reg) < 0 ? -errno : 0;
}

static void unwatch(int holder, uint64_t addr, uint64_t bytes) {
    struct uffdio_range range = {addr, bytes};
    (void)ioctl(holder, UFFDIO_UNREGISTER, &range);
}

void page_block_end(int holder, uint64_t addr, uint64_t bytes) {
    struct uffdio_range range = {addr, bytes};
    unwatch(holder, addr, bytes);
    (void)ioctl(holder, UFFDIO_WAKE, &range);
}

/* ---- moving ---------------------------------------------------------------------------------- */

/* Moves pages. `*done`: bytes moved from the start, on failure too. */
static int move(int holder, uint64_t dst, uint64_t src, uint64_t bytes, uint64_t *done) {
    for (*done = 0; *done < bytes;) {
        struct uffd_move m = {
            .dst = dst + *done, .src = src + *done, .len = bytes - *done, .mode = MOVE_HOLES};
        int err = ioctl(holder, UFFD_MOVE, &m) < 0 ? -errno : 0;
        if (m.moved > 0) *done += (uint64_t)m.moved;
        if (err && m.moved <= 0) return err;
    }
    return 0;
}

/* Moves pages back. Pages that the kernel refuses to move back are remapped in one piece. */
static void move_back(int holder, uint64_t addr, uint64_t bytes, uint64_t moved) {
    uint64_t done;
    if (move(holder, addr, moved, bytes, &done))
        (void)mremap(at(moved + done), bytes - done, bytes - done, MREMAP_MAYMOVE | MREMAP_FIXED,
                     at(addr + done));
}

void page_block_undo(int holder, uint64_t addr, uint64_t bytes, uint64_t moved) {
    move_back(holder, addr, bytes, moved);
    page_block_end(holder, addr, bytes);
    munmap(at(moved), bytes);
}

static int move_away(int holder, uint64_t addr, uint64_t bytes, uint64_t moved) {
    uint64_t done = 0;
    int err = watch(holder, moved, bytes, UFFDIO_REGISTER_MODE_MISSING);
    if (!err) err = watch(holder, addr, bytes, UFFDIO_REGISTER_MODE_MISSING);
    if (!err) err = move(holder, moved, addr, bytes, &done);
    /* A page that never existed reads as zeros. */
    unwatch(holder, moved, bytes);
    if (err && done) move_back(holder, addr, done, moved);
    if (err) page_block_end(holder, addr, bytes);
    return err;
}

int page_block_away(int holder, uint64_t addr, uint64_t bytes, uint64_t *moved) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return -errno;
    *moved = (uint64_t)(uintptr_t)p;
    /* Makes pages shared with a child process private to this process. */
    (void)madvise(at(addr), bytes, MADV_POPULATE_WRITE);
    int err = move_away(holder, addr, bytes, *moved);
    if (err) munmap(p, bytes);
    return err;
}

/* ---- write protection ------------------------------------------------------------------------ */

int page_block_still(int holder, uint64_t addr, uint64_t bytes) {
    struct uffdio_writeprotect wp = {.range = {addr, bytes}, .mode = UFFDIO_WRITEPROTECT_MODE_WP};
    int err = watch(holder, addr, bytes, UFFDIO_REGISTER_MODE_WP);
    if (err) return err;
    return ioctl(holder, UFFDIO_WRITEPROTECT, &wp) < 0 ? -errno : 0;
}
