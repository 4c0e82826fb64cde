/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that are mapped into parts of a client's host window: which mappings are accepted, the
 * memory that the device then sees, and that nothing leaks. Tested first by function calls, then by
 * a client's messages and records.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "common/remap.h"
#include "daemon/device/device_host.h"
#include "daemon/worker/client.h"
#include "test/lib/worker/fakedev.h"
#include "test/lib/worker/wireclient.h"

#define PAGE ((uint64_t)WIRE_FILE_PAGE)
#define WINDOW (4096 * PAGE)
#define MANAGED (16 * PAGE)

static struct hostfiles files;
static char *window;
/* the device's mapping calls; the n-th from now on fails, and loses the pages */
static int maps, fail_in;

static int host_map(struct dev_space *space, uint64_t addr, uint64_t bytes, int fd,
                    uint64_t offset) {
    maps++;
    if (fail_in && --fail_in == 0) {
        munmap((void *)(uintptr_t)addr, bytes);
        return -ENOMEM;
    }
    return remap_file(addr, bytes, fd, offset);
}

static uint64_t added; /* bytes outside the window that the device counts for the client */

static int host_add(struct dev_space *space, uint64_t addr, uint64_t bytes) {
    if (fail_in && --fail_in == 0) return -ENOMEM;
    added += bytes;
    return 0;
}

static int host_remove(struct dev_space *space, uint64_t addr, uint64_t bytes) {
    added -= bytes;
    return 0;
}

static const struct dev_host_ops host = {
    .host_map = host_map, .host_add = host_add, .host_remove = host_remove};
static const struct dev_ops ops = {.host = &host}, poor;
static const struct hostfile_bounds closed = {1ull << 45, 1ull << 46};

static void begin_on(const struct dev_ops *device) {
    int fd = fdutil_memfd("window", WINDOW, 0);
    window = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    cr_assert_neq(window, MAP_FAILED);
    const struct dev_windows w = {
        .host_base = (uint64_t)(uintptr_t)window, .host_bytes = WINDOW, .managed_bytes = MANAGED};
    hostfile_init(&files, device, NULL, &w, &closed, fd);
}

static void begin(void) {
    begin_on(&ops);
}

static void end(void) {
    hostfile_finish(&files);
}

TestSuite(hostfile, .init = begin, .fini = end, .timeout = 120);

static int make_file(uint64_t bytes, int seals) {
    int fd = memfd_create("file", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    cr_assert_geq(fd, 0);
    cr_assert_eq(ftruncate(fd, (off_t)bytes), 0);
    cr_assert_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}

static char *view_of(int fd, uint64_t bytes) {
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    cr_assert_neq(p, MAP_FAILED);
    return p;
}

static int open_fds(void) {
    DIR *d = opendir("/proc/self/fd");
    int n = 0;
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

/* `at`, `count` and `from` are pages of the window and of the file. */
static int map(uint32_t file, uint64_t at, uint64_t count, uint64_t from) {
    const struct wire_file_range r = {.file = file,
                                      .addr = (uint64_t)(uintptr_t)window + at * PAGE,
                                      .bytes = count * PAGE,
                                      .offset = from * PAGE};
    return hostfile_map(&files, &r);
}

static int unmap(uint64_t at, uint64_t count) {
    return hostfile_unmap(&files, (uint64_t)(uintptr_t)window + at * PAGE, count * PAGE, false);
}

Test(hostfile, a_range_is_the_files_memory_and_then_the_windows_again) {
    int fd = make_file(8 * PAGE, F_SEAL_SHRINK);
    char *view = view_of(fd, 8 * PAGE);
    window[5 * PAGE] = 'w';
    view[3 * PAGE] = 'f';
    cr_assert_eq(hostfile_take(&files, 7, fd), 0);
    cr_assert_eq(map(7, 5, 2, 3), 0);
    cr_expect_eq(window[5 * PAGE], 'f');
    window[6 * PAGE] = 'd';
    cr_expect_eq(view[4 * PAGE], 'd');
    cr_expect_eq(files.shown_bytes, 2 * PAGE);
    cr_assert_eq(hostfile_drop(&files, 7), 0);
    view[3 * PAGE] = 'g';
    cr_expect_eq(window[5 * PAGE], 'g', "a range outlives the number");
    cr_assert_eq(unmap(5, 2), 0);
    cr_expect(window[5 * PAGE] == 'w' && window[6 * PAGE] == 0 && view[4 * PAGE] == 'd');
    cr_expect_eq(files.shown_bytes, 0);
}

/* ---- at the client's own address ------------------------------------------------------------- */

/* An address range that is free at present. */
static uint64_t free_place(uint64_t bytes) {
    void *p = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(p, MAP_FAILED);
    munmap(p, bytes);
    return (uint64_t)(uintptr_t)p;
}

static int map_at(uint64_t addr, uint64_t count, uint64_t from) {
    const struct wire_file_range r = {
        .file = 0, .addr = addr, .bytes = count * PAGE, .offset = from * PAGE};
    return hostfile_map(&files, &r);
}

static char *at(uint64_t addr) {
    return (char *)(uintptr_t)addr;
}

Test(hostfile, a_range_may_lie_where_the_client_has_it) {
    int fd = make_file(8 * PAGE, F_SEAL_SHRINK);
    char *view = view_of(fd, 8 * PAGE);
    uint64_t place = free_place(8 * PAGE);
    cr_assert_eq(hostfile_take(&files, 0, fd), 0);
    cr_assert_eq(map_at(place, 2, 0), 0);
    cr_assert_eq(map_at(place + 2 * PAGE, 2, 2), 0);
    view[3 * PAGE] = 'f';
    cr_expect_eq(*at(place + 3 * PAGE), 'f');
    cr_expect(files.shown_bytes == 4 * PAGE && added == 4 * PAGE);
    cr_expect(hostfile_has(&files, place + 10, 4 * PAGE - 10), "across two ranges");
    cr_expect_not(hostfile_has(&files, place, 4 * PAGE + 1));
    cr_expect_not(hostfile_has(&files, place - 1, 2));
    cr_expect_not(hostfile_has(&files, (uint64_t)(uintptr_t)window, 1), "that is no range");
    cr_expect_eq(map_at(place + PAGE, 1, 0), ERR_PROTOCOL, "it is shown already");
    cr_assert_eq(hostfile_unmap(&files, place, 2 * PAGE, true), 0);
    cr_expect_not(hostfile_has(&files, place, 1));
    cr_expect(files.shown_bytes == 2 * PAGE && added == 2 * PAGE);
    cr_expect_eq(map_at(place, 2, 4), 0, "it went at once");
}

Test(hostfile, what_runs_goes_on_where_a_range_was) {
    int fd = make_file(4 * PAGE, F_SEAL_SHRINK);
    char *view = view_of(fd, 4 * PAGE);
    uint64_t place = free_place(2 * PAGE);
    cr_assert_eq(hostfile_take(&files, 0, fd), 0);
    cr_assert_eq(map_at(place, 2, 0), 0);
    cr_assert_eq(hostfile_unmap(&files, place, 2 * PAGE, false), 0);
    *at(place) = 'k'; /* written by a kernel that had begun */
    cr_expect_eq(view[0], 0);
    cr_expect(!hostfile_has(&files, place, 1) && !added && !files.shown_bytes);
    cr_expect_eq(hostfile_unmap(&files, place, 2 * PAGE, false), ERR_PROTOCOL);
    cr_expect_eq(map_at(place, 1, 0), -EADDRNOTAVAIL, "but not a part of it");
    cr_assert_eq(map_at(place, 2, 2), 0, "the same again");
    view[2 * PAGE] = 'a';
    cr_expect(*at(place) == 'a' && added == 2 * PAGE);
}

Test(hostfile, nobody_elses_place_is_taken) {
    cr_assert_eq(hostfile_take(&files, 0, make_file(4 * PAGE, F_SEAL_SHRINK)), 0);
    char *mine = view_of(files.fds[0], PAGE);
    mine[0] = 'm';
    cr_expect_eq(map_at((uint64_t)(uintptr_t)mine, 1, 1), -EADDRNOTAVAIL);
    cr_expect_eq(mine[0], 'm');
    cr_expect_eq(map_at(closed.lo, 1, 0), -EADDRNOTAVAIL, "another job's window will be there");
    cr_expect_eq(map_at(closed.lo - PAGE, 2, 0), -EADDRNOTAVAIL);
    cr_expect_eq(map_at(closed.hi - PAGE, 1, 0), -EADDRNOTAVAIL);
    cr_expect_eq(map_at(PAGE, 1, 0), -EADDRNOTAVAIL);
    cr_expect_eq(map_at((1ull << 47) - PAGE, 2, 0), -EADDRNOTAVAIL);
    cr_expect_eq(map_at((uint64_t)(uintptr_t)window - PAGE, 2, 0), ERR_PROTOCOL, "half in it");
    uint64_t place = free_place(PAGE);
    fail_in = 1;
    cr_expect_eq(map_at(place, 1, 0), -ENOMEM, "the device would not have it");
    cr_expect_eq(map_at(place, 1, 0), 0, "and nothing was left");
    cr_expect_eq(map_at(free_place(PAGE), 1, 4), -EINVAL, "the file is not so large");
    cr_expect_eq(added, PAGE);
}

Test(hostfile, what_could_shrink_is_not_taken) {
    int before = open_fds(), pipes[2];
    char name[] = "/tmp/hostfile-XXXXXX";
    cr_expect_eq(hostfile_take(&files, 0, make_file(PAGE, 0)), -EINVAL);
    cr_expect_eq(hostfile_take(&files, 0, make_file(PAGE, F_SEAL_GROW)), -EINVAL);
    int fd = mkstemp(name);
    unlink(name);
    cr_expect_eq(ftruncate(fd, PAGE), 0);
    cr_expect_eq(hostfile_take(&files, 0, fd), -EINVAL, "a file of a disk");
    cr_assert_eq(pipe(pipes), 0);
    cr_expect_eq(hostfile_take(&files, 0, pipes[0]), -EINVAL);
    close(pipes[1]);
    fd = memfd_create("huge", MFD_ALLOW_SEALING | MFD_HUGETLB);
    if (fd >= 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0)
        cr_expect_eq(hostfile_take(&files, 0, fd), -EINVAL, "huge pages may run out");
    cr_expect_eq(open_fds(), before, "all are closed");
}

Test(hostfile, what_cannot_be_written_is_not_shown) {
    int fd = make_file(PAGE, F_SEAL_SHRINK | F_SEAL_WRITE);
    char path[64];
    cr_assert_eq(hostfile_take(&files, 0, fd), 0);
    cr_expect_eq(map(0, 0, 1, 0), -EPERM);
    fd = make_file(PAGE, F_SEAL_SHRINK);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    cr_assert_eq(hostfile_take(&files, 1, open(path, O_RDONLY)), 0);
    cr_expect_eq(map(1, 0, 1, 0), -EACCES);
    window[0] = 1; /* the memory is mapped */
    close(fd);
}

Test(hostfile, numbers_are_taken_once) {
    cr_assert_eq(hostfile_take(&files, WIRE_FILES - 1, make_file(PAGE, F_SEAL_SHRINK)), 0);
    int before = open_fds();
    cr_expect_eq(hostfile_take(&files, WIRE_FILES - 1, make_file(PAGE, F_SEAL_SHRINK)), -EEXIST);
    cr_expect_eq(open_fds(), before);
    cr_expect_eq(hostfile_drop(&files, 3), -ENOENT);
    cr_expect_eq(map(3, 0, 1, 0), -ENOENT);
    cr_expect_eq(hostfile_drop(&files, WIRE_FILES - 1), 0);
    cr_expect_eq(open_fds(), before - 1);
}

Test(hostfile, nothing_beyond_the_file_is_shown) {
    int fd = make_file(2 * PAGE + 1, F_SEAL_SHRINK);
    cr_assert_eq(hostfile_take(&files, 0, fd), 0);
    cr_expect_eq(map(0, 0, 4, 0), -EINVAL);
    cr_expect_eq(map(0, 0, 1, 3), -EINVAL);
    cr_expect_eq(map(0, 0, 1, UINT64_MAX / PAGE), -EINVAL);
    cr_assert_eq(map(0, 0, 3, 0), 0, "the page in which it ends");
    window[3 * PAGE - 1] = 1;
    cr_assert_eq(ftruncate(fd, 5 * PAGE), 0);
    cr_expect_eq(map(0, 3, 4, 1), 0, "it has grown");
    window[7 * PAGE - 1] = 1;
}

Test(hostfile, ranges_lie_in_the_window_and_apart) {
    cr_assert_eq(hostfile_take(&files, 0, make_file(64 * PAGE, F_SEAL_SHRINK)), 0);
    uint64_t end = (WINDOW - MANAGED) / PAGE;
    cr_expect_eq(map(0, end, 1, 0), -EADDRNOTAVAIL, "the worker's part");
    cr_expect_eq(map(0, end - 1, 2, 0), ERR_PROTOCOL);
    cr_expect_eq(map(0, (uint64_t)-1, 2, 0), ERR_PROTOCOL);
    cr_assert_eq(map(0, end - 1, 1, 0), 0);
    cr_assert_eq(map(0, 10, 4, 0), 0);
    cr_assert_eq(map(0, 20, 4, 0), 0);
    for (uint64_t at = 7; at < 14; at++)
        cr_expect_eq(map(0, at, 4, 0), ERR_PROTOCOL, "at page %lu", (unsigned long)at);
    cr_expect_eq(map(0, 8, 20, 0), ERR_PROTOCOL);
    cr_expect_eq(map(0, 14, 6, 0), 0, "between them");
    cr_expect_eq(unmap(10, 3), ERR_PROTOCOL);
    cr_expect_eq(unmap(11, 3), ERR_PROTOCOL);
    cr_expect_eq(unmap(9, 1), ERR_PROTOCOL);
    cr_expect_eq(unmap(10, 4), 0);
    cr_expect_eq(unmap(10, 4), ERR_PROTOCOL);
    cr_expect_eq(files.shown_bytes, 11 * PAGE);
}

Test(hostfile, only_so_many_ranges_are_shown) {
    cr_assert_eq(hostfile_take(&files, 0, make_file(PAGE, F_SEAL_SHRINK)), 0);
    for (uint64_t i = 0; i < WIRE_FILE_RANGES; i++)
        cr_assert_eq(map(0, i, 1, 0), 0);
    cr_expect_eq(map(0, WIRE_FILE_RANGES, 1, 0), -ENOSPC);
    cr_assert_eq(unmap(17, 1), 0);
    cr_expect_eq(map(0, WIRE_FILE_RANGES, 1, 0), 0);
}

/* Running kernels may access it at any time. */
Test(hostfile, memory_is_there_whatever_fails) {
    cr_assert_eq(hostfile_take(&files, 0, make_file(4 * PAGE, F_SEAL_SHRINK)), 0);
    window[PAGE] = 'w';
    fail_in = 1;
    cr_expect_eq(map(0, 0, 4, 0), -ENOMEM);
    cr_expect(window[PAGE] == 'w' && files.count == 0);
    cr_assert_eq(map(0, 0, 4, 0), 0);
    window[PAGE] = 'f';
    fail_in = 1;
    cr_expect_eq(unmap(0, 4), -ENOMEM);
    cr_expect_eq(files.count, 1);
    window[3 * PAGE] = 1;
}

Test(hostfile, a_device_may_have_no_such_thing) {
    end();
    begin_on(&poor);
    cr_expect_eq(hostfile_take(&files, 0, make_file(PAGE, F_SEAL_SHRINK)), -ENOTSUP);
}

Test(hostfile, all_descriptors_are_closed_at_the_end) {
    int before = open_fds() - 1; /* not counting the window's descriptor */
    for (uint32_t i = 0; i < WIRE_FILES; i++)
        cr_assert_eq(hostfile_take(&files, i, make_file(PAGE, F_SEAL_SHRINK)), 0);
    hostfile_finish(&files);
    cr_expect_eq(open_fds(), before);
    files.window = -1;
}

/* ---- through messages and records ------------------------------------------------------------ */

static int record(struct wireclient *wc, uint16_t op, uint64_t at, uint64_t bytes) {
    struct wire_file_range r = {.addr = bytes ? wc->windows.host_base + at : 0, .bytes = bytes};
    uint64_t ticket = wireclient_send(wc, op, 0, op != WIRE_FILE_UNMAP, &r, sizeof(r), NULL, 0);
    return op != WIRE_FILE_UNMAP ? wireclient_result(wc, ticket) : 0;
}

Test(hostfile, a_client_has_what_it_sent) {
    struct wirebench *b = wirebench_start(&fakedev, 0);
    int before = open_fds();
    struct wireclient *wc = wireclient_attach(b);
    int fd = make_file(4 * PAGE, F_SEAL_SHRINK);
    char *view = view_of(fd, 4 * PAGE);
    volatile char *device = (volatile char *)(uintptr_t)wc->windows.host_base;
    cr_expect_eq(wireclient_result(wc, wireclient_file(wc, 0, -1, 0)), -EMFILE, "it was lost");
    cr_expect_eq(wireclient_result(wc, wireclient_file(wc, 0, -1, -EINVAL)), -EINVAL, "refused");
    cr_expect_eq(wireclient_result(wc, wireclient_file(wc, 0, dup(fd), 0)), 0);
    cr_expect_eq(record(wc, WIRE_FILE_MAP, 2 * PAGE, 4 * PAGE), 0);
    view[PAGE] = 'v';
    cr_expect_eq(device[3 * PAGE], 'v');
    cr_expect_eq(wc->com->stats.file_bytes, 4 * PAGE);
    cr_expect_eq(record(wc, WIRE_FILE_UNMAP, 2 * PAGE, 4 * PAGE), 0);
    cr_expect_eq(record(wc, WIRE_FILE_DROP, 0, 0), 0);
    cr_expect(device[3 * PAGE] == 0 && wc->com->stats.file_bytes == 0);
    cr_expect_eq(record(wc, WIRE_FILE_DROP, 0, 0), -ENOENT);
    cr_expect_eq(wireclient_result(wc, wireclient_file(wc, 0, dup(fd), 0)), 0, "the number again");
    cr_expect_eq(record(wc, WIRE_FILE_MAP, 0, PAGE), 0);
    wireclient_detach(wc);
    wireclient_free(wc);
    close(fd);
    cr_expect_eq(open_fds(), before, "nothing is left of it");
    wirebench_stop(b);
}

Test(hostfile, who_maps_what_is_not_his_ends) {
    struct wirebench *b = wirebench_start(&fakedev, 0);
    for (int i = 0; i < 3; i++) {
        struct wireclient *wc = wireclient_attach(b);
        struct wire_worker_msg msg;
        uint64_t odd[] = {0, WIRECLIENT_HOST_BYTES - PAGE,
                          0}; /* mapped already; half inside; an empty range */
        cr_assert_eq(
            wireclient_result(wc, wireclient_file(wc, 0, make_file(4 * PAGE, F_SEAL_SHRINK), 0)),
            0);
        cr_assert_eq(record(wc, WIRE_FILE_MAP, 0, PAGE), 0);
        record(wc, i == 2 ? WIRE_FILE_UNMAP : WIRE_FILE_MAP, odd[i], 2 * PAGE);
        cr_assert(wirebench_hear(b, &msg, NULL));
        cr_expect_eq(msg.kind, WIRE_EXPELLED, "%d: kind %u", i, msg.kind);
        wireclient_detach(wc);
        wireclient_free(wc);
    }
    wirebench_stop(b);
}

/* The client may have left meanwhile, and numbers may be arbitrary. */
Test(hostfile, a_file_for_nobody_is_closed) {
    struct wirebench *b = wirebench_start(&fakedev, 0);
    struct wireclient *wc = wireclient_attach(b);
    int before = open_fds();
    struct wire_worker_msg msg = {.kind = WIRE_FILE, .job_id = 4711, .file = {.ticket = 1}}, heard;
    for (int i = 0; i < 3; i++) {
        int fd = make_file(PAGE, F_SEAL_SHRINK);
        if (i) msg.job_id = wc->job_id;
        if (i == 1) msg.file.file = WIRE_FILES;
        if (i == 2) msg.file = (struct wire_file){.reply = WIRE_REPLIES, .ticket = 1};
        cr_assert_eq(fdutil_send(b->sock, &msg, sizeof(msg), &fd, 1), 0);
        close(fd);
        cr_assert(wirebench_hear(b, &heard, NULL));
        cr_expect(heard.kind == WIRE_FILED && heard.job_id == msg.job_id);
    }
    cr_expect_eq(open_fds(), before);
    wireclient_detach(wc);
    wireclient_free(wc);
    wirebench_stop(b);
}
