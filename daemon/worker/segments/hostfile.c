/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranges are an ascending array: there are at most WIRE_FILE_RANGES, and they change seldom.
 */
#include "daemon/worker/segments/hostfile.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "common/remap.h"
#include "daemon/device/device_host.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* programs without position independence lie below this address */
#define HOSTFILE_LEAST (1ull << 32)
#define HOSTFILE_END (1ull << 47)
#define KEEP_FDS 64 /* descriptors that clients never get; an eighth where there are few */

static bool in_window(const struct hostfiles *h, uint64_t addr, uint64_t bytes) {
    return addr >= h->base && bytes <= h->bytes && addr - h->base <= h->bytes - bytes;
}

static void free_pages(const struct hostfile_range *r) {
    munmap((void *)(uintptr_t)r->addr, r->bytes);
}

void hostfile_init(struct hostfiles *h, const struct dev_ops *ops, struct dev_space *space,
                   const struct dev_windows *windows, const struct hostfile_bounds *closed,
                   int window_fd) {
    *h = (struct hostfiles){.ops = ops,
                            .space = space,
                            .closed = *closed,
                            .base = windows->host_base,
                            .bytes = windows->host_bytes - windows->managed_bytes,
                            .window = window_fd};
    for (uint32_t i = 0; i < WIRE_FILES; i++)
        h->fds[i] = -1;
}

void hostfile_finish(struct hostfiles *h) {
    if (h->window < 0) return;
    for (uint32_t i = 0; i < WIRE_FILES; i++)
        fdutil_close(&h->fds[i]);
    fdutil_close(&h->window);
    for (uint32_t i = 0; i < h->count; i++)
        if (!in_window(h, h->ranges[i].addr, h->ranges[i].bytes)) free_pages(&h->ranges[i]);
    free(h->ranges);
    h->ranges = NULL;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The kernel hands out the lowest free number, so a high one is among the last. */
static bool is_last(int fd) {
    struct rlimit limit = {0};
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY) return false;
    rlim_t keep = limit.rlim_cur / 8 < KEEP_FDS ? limit.rlim_cur / 8 : KEEP_FDS;
    return (rlim_t)fd + keep >= limit.rlim_cur;
}

static int check_file(const struct hostfiles *h, uint32_t file, int fd) {
    uint64_t bytes;
    if (!h->ops->host) return -ENOTSUP;
    if (h->fds[file] >= 0) return -EEXIST;
    if (is_last(fd)) return -EMFILE;
    return fdutil_check_lasting(fd, &bytes);
}

int hostfile_take(struct hostfiles *h, uint32_t file, int fd) {
    int err = check_file(h, file, fd);
    if (err)
        fdutil_close(&fd);
    else
        h->fds[file] = fd;
    return err;
}

int hostfile_drop(struct hostfiles *h, uint32_t file) {
    if (h->fds[file] < 0) return -ENOENT;
    fdutil_close(&h->fds[file]);
    return 0;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

/* The index of the first range that ends behind `addr`. */
static uint32_t find(const struct hostfiles *h, uint64_t addr) {
    uint32_t lo = 0, hi = h->count;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        const struct hostfile_range *r = &h->ranges[mid];
        if (r->addr + r->bytes > addr)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

static int make_room(struct hostfiles *h) {
    if (h->count == WIRE_FILE_RANGES) return -ENOSPC;
    if (h->count < h->room) return 0;
    uint32_t room = h->room ? h->room * 2 : 16;
    struct hostfile_range *more = realloc(h->ranges, room * sizeof(*more));
    if (!more) return -ENOMEM;
    h->ranges = more;
    h->room = room;
    return 0;
}

/* The last page of a file can be accessed to its end, so sizes are rounded up. */
static int check_range(const struct hostfiles *h, const struct wire_file_range *r) {
    uint64_t bytes;
    if (h->fds[r->file] < 0) return -ENOENT;
    int err = fdutil_check_lasting(h->fds[r->file], &bytes);
    if (err) return err;
    bytes = (bytes + WIRE_FILE_PAGE - 1) & ~(uint64_t)(WIRE_FILE_PAGE - 1);
    return r->offset <= bytes && r->bytes <= bytes - r->offset ? 0 : -EINVAL;
}

/* After a failure the range is mapped again, because the device may access it; to its former pages,
 * or to those of the window. -ENOMEM also if that failed. */
static int exchange(struct hostfiles *h, uint64_t addr, uint64_t bytes, int fd, uint64_t offset) {
    int err = h->ops->host->host_map(h->space, addr, bytes, fd, offset);
    if (err && remap_fill(addr, bytes, h->window, addr - h->base)) return -ENOMEM;
    return err;
}

static void insert(struct hostfiles *h, uint32_t i, const struct wire_file_range *r) {
    memmove(&h->ranges[i + 1], &h->ranges[i], (h->count - i) * sizeof(*h->ranges));
    h->ranges[i] = (struct hostfile_range){r->addr, r->bytes, false};
    h->count++;
}

static void take_out(struct hostfiles *h, uint32_t i) {
    memmove(&h->ranges[i], &h->ranges[i + 1], (h->count - i - 1) * sizeof(*h->ranges));
    h->count--;
}

static int map_in_window(struct hostfiles *h, const struct wire_file_range *r, uint32_t i) {
    if (i < h->count && h->ranges[i].addr < r->addr + r->bytes) return ERR_PROTOCOL;
    int err = check_range(h, r);
    if (!err) err = make_room(h);
    if (!err) err = exchange(h, r->addr, r->bytes, h->fds[r->file], r->offset);
    if (!err) insert(h, i, r);
    return err;
}

/* ---- outside the window ---------------------------------------------------------------------- */

/* `how`: MAP_FIXED over our own mapping, or MAP_FIXED_NOREPLACE. */
static int put_pages(const struct hostfiles *h, const struct wire_file_range *r, int how) {
    void *want = (void *)(uintptr_t)r->addr;
    void *got = mmap(want, r->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | how,
                     h->fds[r->file], (off_t)r->offset);
    if (got == MAP_FAILED) return errno == EEXIST ? -EADDRNOTAVAIL : -errno;
    if (got != want) { /* a kernel older than 4.17 takes the address as a hint */
        munmap(got, r->bytes);
        return -EADDRNOTAVAIL;
    }
    madvise(got, r->bytes, MADV_DONTFORK);
    madvise(got, r->bytes, MADV_DONTDUMP);
    return 0;
}

/* Replaces the pages with anonymous ones, because running work may still access them. */
static void blank_pages(const struct hostfile_range *r) {
    (void)mmap((void *)(uintptr_t)r->addr, r->bytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

static bool is_closed(const struct hostfiles *h, const struct wire_file_range *r) {
    bool reserved = r->addr < h->closed.hi && r->addr + r->bytes > h->closed.lo;
    return reserved || r->addr < HOSTFILE_LEAST || r->addr + r->bytes > HOSTFILE_END;
}

/* The client may map exactly the same range again where one is no longer mapped. */
static int place_again(struct hostfiles *h, const struct wire_file_range *r, uint32_t i) {
    struct hostfile_range *was = &h->ranges[i];
    if (!was->away) return ERR_PROTOCOL;
    if (was->addr != r->addr || was->bytes != r->bytes) return -EADDRNOTAVAIL;
    int err = put_pages(h, r, MAP_FIXED);
    if (!err) err = h->ops->host->host_add(h->space, r->addr, r->bytes);
    if (err)
        blank_pages(was);
    else
        was->away = false;
    return err;
}

static int place(struct hostfiles *h, const struct wire_file_range *r, uint32_t i) {
    int err = h->ops->host ? check_range(h, r) : -EADDRNOTAVAIL;
    if (!err && is_closed(h, r)) err = -EADDRNOTAVAIL;
    if (err) return err;
    if (i < h->count && h->ranges[i].addr < r->addr + r->bytes) return place_again(h, r, i);
    err = make_room(h);
    if (!err) err = put_pages(h, r, MAP_FIXED_NOREPLACE);
    if (err) return err;
    err = h->ops->host->host_add(h->space, r->addr, r->bytes);
    if (err)
        free_pages(&(struct hostfile_range){r->addr, r->bytes, false});
    else
        insert(h, i, r);
    return err == -EEXIST ? -EADDRNOTAVAIL : err;
}

static int displace(struct hostfiles *h, uint32_t i, bool idle) {
    struct hostfile_range *r = &h->ranges[i];
    if (r->away) return ERR_PROTOCOL;
    int err = h->ops->host->host_remove(h->space, r->addr, r->bytes);
    if (err) return err;
    h->shown_bytes -= r->bytes;
    if (idle) {
        free_pages(r);
        take_out(h, i);
    } else {
        blank_pages(r);
        r->away = true;
    }
    return 0;
}

bool hostfile_has(const struct hostfiles *h, uint64_t addr, uint64_t bytes) {
    for (uint32_t i = find(h, addr); i < h->count; i++) {
        const struct hostfile_range *r = &h->ranges[i];
        uint64_t left = r->addr + r->bytes - addr;
        if (addr < r->addr || r->away || in_window(h, r->addr, r->bytes)) return false;
        if (bytes <= left) return true;
        addr += left;
        bytes -= left;
    }
    return false;
}

/* ---- inside and outside the window ----------------------------------------------------------- */

int hostfile_map(struct hostfiles *h, const struct wire_file_range *r) {
    uint32_t i = find(h, r->addr);
    bool inside = in_window(h, r->addr, r->bytes);
    if (!inside && r->addr < h->base + h->bytes && r->addr + r->bytes > h->base)
        return ERR_PROTOCOL;
    int err = inside ? map_in_window(h, r, i) : place(h, r, i);
    if (!err) h->shown_bytes += r->bytes;
    return err;
}

int hostfile_unmap(struct hostfiles *h, uint64_t addr, uint64_t bytes, bool idle) {
    uint32_t i = find(h, addr);
    if (i == h->count || h->ranges[i].addr != addr || h->ranges[i].bytes != bytes)
        return ERR_PROTOCOL;
    if (!in_window(h, addr, bytes)) return displace(h, i, idle);
    int err = exchange(h, addr, bytes, h->window, addr - h->base);
    if (err) return err;
    take_out(h, i);
    h->shown_bytes -= bytes;
    return 0;
}
