/* SPDX-License-Identifier: Apache-2.0
 *
 * Seals hold against the other process, messages arrive complete or are rejected, and no descriptor
 * leaks.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fdutil.h"

static int open_fds(void) {
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static void pair(int sv[2]) {
    cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv), 0);
}

Test(fdutil, memfd_has_fixed_size_and_is_zeroed) {
    int fd = fdutil_memfd("t", 8192, 0);
    cr_assert_geq(fd, 0);
    cr_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    cr_assert_eq(ftruncate(fd, 4096), -1);
    cr_assert_eq(errno, EPERM);
    cr_assert_eq(ftruncate(fd, 16384), -1);
    cr_assert_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1, "no seal can be added");
    unsigned char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    cr_assert_neq(p, MAP_FAILED);
    for (int i = 0; i < 8192; i++)
        cr_assert_eq(p[i], 0);
}

Test(fdutil, what_was_written_is_found) {
    const uint64_t page = 4096;
    int fd = fdutil_memfd("t", 100 * page, 0);
    uint64_t at = 0, end = 0;
    cr_expect_eq(fdutil_written(fd, 0, &at, &end), -ENXIO);
    cr_assert_eq(pwrite(fd, "a", 1, (off_t)(10 * page + 7)), 1);
    cr_assert_eq(pwrite(fd, "b", 1, (off_t)(11 * page)), 1);
    cr_assert_eq(pwrite(fd, "c", 1, (off_t)(99 * page)), 1);
    cr_assert_eq(fdutil_written(fd, 0, &at, &end), 0);
    cr_expect(at == 10 * page && end == 12 * page, "%lu to %lu", at, end);
    cr_assert_eq(fdutil_written(fd, 11 * page + 8, &at, &end), 0);
    cr_expect(at == 11 * page + 8 && end == 12 * page, "%lu to %lu", at, end);
    cr_assert_eq(fdutil_written(fd, end, &at, &end), 0);
    cr_expect(at == 99 * page && end == 100 * page, "%lu to %lu", at, end);
    cr_expect_eq(fdutil_written(fd, end, &at, &end), -ENXIO);
    cr_expect_eq(fdutil_written(-1, 0, &at, &end), -EBADF);
    close(fd);
}

Test(fdutil, sealed_readonly_keeps_only_the_makers_mapping) {
    int fd = fdutil_memfd("t", 4096, 1);
    char *mine = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    cr_assert_neq(mine, MAP_FAILED);
    cr_assert_eq(fdutil_seal_readonly(fd), 0);
    cr_assert_eq(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
    cr_assert_eq(errno, EPERM);
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int again = open(path, O_RDWR);
    cr_assert_eq(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, again, 0), MAP_FAILED,
                 "opening it again does not help");
    const char *peer = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    cr_assert_neq(peer, MAP_FAILED);
    mine[7] = 'x';
    cr_assert_eq(peer[7], 'x');
    cr_assert_eq(fdutil_seal_readonly(fd), -EPERM, "already sealed for good");
}

Test(fdutil, check_sealed_refuses_all_that_may_raise_sigbus) {
    int good = fdutil_memfd("t", 4096, 0);
    cr_assert_eq(fdutil_check_sealed(good, 4096), 0);
    cr_assert_eq(fdutil_check_sealed(good, 100), 0);
    cr_assert_eq(fdutil_check_sealed(good, 4097), -EINVAL, "too small");
    int unsealed = memfd_create("t", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    cr_assert_eq(ftruncate(unsealed, 4096), 0);
    cr_assert_eq(fdutil_check_sealed(unsealed, 4096), -EINVAL);
    cr_assert_eq(fcntl(unsealed, F_ADD_SEALS, F_SEAL_GROW), 0);
    cr_assert_eq(fdutil_check_sealed(unsealed, 4096), -EINVAL, "could still shrink");
    int p[2];
    cr_assert_eq(pipe(p), 0);
    cr_assert_eq(fdutil_check_sealed(p[0], 0), -EINVAL);
    cr_assert_eq(fdutil_check_sealed(-1, 0), -EINVAL);
}

Test(fdutil, message_and_descriptors_arrive) {
    int sv[2], fds[2] = {fdutil_memfd("a", 4096, 0), fdutil_memfd("b", 8192, 0)};
    pair(sv);
    cr_assert_eq(fdutil_send(sv[0], "hello", 5, fds, 2), 0);
    char msg[16];
    int got[FDUTIL_MAX_FDS], n = FDUTIL_MAX_FDS;
    cr_assert_eq(fdutil_recv(sv[1], msg, sizeof(msg), got, &n), 5);
    cr_assert_eq(n, 2);
    cr_assert_arr_eq(msg, "hello", 5);
    cr_assert_eq(fdutil_check_sealed(got[0], 4096), 0);
    cr_assert_eq(fdutil_check_sealed(got[1], 8192), 0, "order is kept");
    cr_assert(fcntl(got[0], F_GETFD) & FD_CLOEXEC);
}

Test(fdutil, no_descriptors_and_end_of_file) {
    int sv[2], n = 3, got[3];
    char msg[8];
    pair(sv);
    cr_assert_eq(fdutil_send(sv[0], "x", 1, NULL, 0), 0);
    cr_assert_eq(fdutil_recv(sv[1], msg, sizeof(msg), got, &n), 1);
    cr_assert_eq(n, 0);
    close(sv[0]);
    cr_assert_eq(fdutil_recv(sv[1], msg, sizeof(msg), NULL, NULL), 0);
    cr_assert_eq(fdutil_send(sv[1], "x", 1, NULL, 0), -EPIPE, "and no SIGPIPE");
}

Test(fdutil, surplus_descriptors_are_closed_and_refused) {
    int sv[2], fds[3] = {0, 1, 2}, got[3], n = 2;
    char msg[8];
    pair(sv);
    cr_assert_eq(fdutil_send(sv[0], "x", 1, fds, 3), 0);
    int before = open_fds();
    cr_assert_eq(fdutil_recv(sv[1], msg, sizeof(msg), got, &n), -EPROTO);
    cr_assert_eq(n, 0);
    cr_assert_eq(open_fds(), before);
    cr_assert_eq(fdutil_send(sv[0], "x", 1, fds, 1), 0);
    cr_assert_eq(fdutil_recv(sv[1], msg, sizeof(msg), NULL, NULL), -EPROTO, "none expected");
    cr_assert_eq(open_fds(), before);
}

Test(fdutil, more_descriptors_than_the_control_buffer_holds) {
    int sv[2], n = FDUTIL_MAX_FDS, got[FDUTIL_MAX_FDS], fds[40];
    pair(sv);
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(fds))];
    } control = {0};
    char msg[8] = "x";
    struct iovec iov = {msg, 1};
    struct msghdr hdr = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.bytes,
                         .msg_controllen = sizeof(control.bytes)};
    for (int i = 0; i < 40; i++)
        fds[i] = sv[0];
    struct cmsghdr *c = CMSG_FIRSTHDR(&hdr);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(fds));
    memcpy(CMSG_DATA(c), fds, sizeof(fds));
    int before = open_fds();
    cr_assert_eq(sendmsg(sv[0], &hdr, 0), 1);
    cr_assert_eq(fdutil_recv(sv[1], msg, sizeof(msg), got, &n), -EPROTO);
    cr_assert_eq(open_fds(), before);
}

static void allow_fds(int n) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = (rlim_t)n;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

Test(fdutil, a_message_comes_without_descriptors_that_this_process_may_not_have) {
    int sv[2], fds[3] = {0, 1, 2}, got[FDUTIL_MAX_FDS], n;
    char msg[8];
    pair(sv);
    int before = open_fds(), lowest = dup(0);
    close(lowest);
    for (int room = 0; room < 3; room++) {
        n = FDUTIL_MAX_FDS;
        cr_assert_eq(fdutil_send(sv[0], "hello", 5, fds, 3), 0);
        allow_fds(lowest + room);
        cr_assert_eq(fdutil_recv(sv[1], msg, sizeof(msg), got, &n), 5);
        cr_assert_eq(n, FDUTIL_LOST);
        fdutil_raise_limits();
        cr_assert_eq(open_fds(), before, "what there was room for is closed");
    }
    n = FDUTIL_MAX_FDS;
    cr_assert_eq(fdutil_send(sv[0], "hello", 5, fds, 3), 0);
    cr_assert_eq(fdutil_recv(sv[1], msg, sizeof(msg), got, &n), 5);
    cr_assert_eq(n, 3);
    cr_assert_eq(fdutil_send(sv[0], "hello", 5, fds, 1), 0);
    allow_fds(lowest);
    cr_assert_eq(fdutil_recv(sv[1], msg, sizeof(msg), NULL, NULL), -EPROTO, "none is expected");
}

static void allow_bytes(rlim_t soft, rlim_t hard) {
    struct rlimit limit = {soft, hard};
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static rlim_t allowed_bytes(int pid) {
    struct rlimit limit;
    cr_assert_eq(prlimit(pid, RLIMIT_FSIZE, NULL, &limit), 0);
    return limit.rlim_cur;
}

/* The kernel treats shared memory as a file, so its limit of file sizes applies. */
Test(fdutil, shared_memory_may_be_larger_than_files) {
    allow_bytes(4096, 1 << 20);
    fdutil_raise_limits();
    int fd = fdutil_memfd("test", 1 << 20, 0);
    cr_assert_geq(fd, 0, "%d", fd);
    close(fd);
    cr_assert_eq(fdutil_memfd("test", (1 << 20) + 1, 0), -EFBIG, "and no signal");
    cr_assert_str_eq(err_text(-EFBIG),
                     "a file or shared memory is larger than allowed (ulimit -f)");
    fdutil_lower_limits(getpid());
    cr_assert_eq(allowed_bytes(0), 4096);
}

Test(fdutil, last_words_come_before_a_reset) {
    int sv[2];
    char msg[8];
    pair(sv);
    cr_assert_eq(fdutil_send(sv[1], "unread", 6, NULL, 0), 0);
    cr_assert_eq(fdutil_send(sv[0], "why", 3, NULL, 0), 0);
    close(sv[0]);
    cr_assert_eq(fdutil_recv(sv[1], msg, sizeof(msg), NULL, NULL), 3);
    cr_assert_eq(fdutil_recv(sv[1], msg, sizeof(msg), NULL, NULL), 0);
}

Test(fdutil, truncated_message_is_refused) {
    int sv[2], fds[1] = {0}, n = 1, got[1];
    char msg[4];
    pair(sv);
    cr_assert_eq(fdutil_send(sv[0], "longer", 6, fds, 1), 0);
    int before = open_fds();
    cr_assert_eq(fdutil_recv(sv[1], msg, sizeof(msg), got, &n), -EPROTO);
    cr_assert_eq(open_fds(), before);
    cr_assert_eq(fdutil_send(sv[0], msg, 0, NULL, 0), -EINVAL, "it would read as end of file");
    cr_assert_eq(fdutil_send(sv[0], msg, 1, fds, FDUTIL_MAX_FDS + 1), -EINVAL);
}

Test(fdutil, close_is_idempotent_and_keeps_errno) {
    int fd = fdutil_memfd("t", 1, 0);
    errno = ERANGE;
    fdutil_close(&fd);
    cr_assert_eq(fd, -1);
    fdutil_close(&fd);
    cr_assert_eq(errno, ERANGE);
}

Test(fdutil, clock_never_goes_back) {
    uint64_t last = fdutil_now_ns();
    for (int i = 0; i < 1000; i++) {
        uint64_t now = fdutil_now_ns();
        cr_assert_geq(now, last);
        last = now;
    }
}

/* The other end can only close its socket, and that is detected. */
Test(fdutil, an_end_of_a_pair_says_no_more_than_that_the_other_is_gone) {
    int sv[2], other[2];
    pair(sv);
    cr_assert_eq(fdutil_check_end(sv[0]), 0);
    cr_expect_eq(fdutil_send(sv[1], "x", 1, NULL, 0), -EPIPE, "nothing comes in any more");
    cr_expect_eq(fdutil_send(sv[0], "key", 3, NULL, 0), 0, "but goes out");
    struct pollfd p = {.fd = sv[0]};
    cr_expect_eq(poll(&p, 1, 0), 0);
    int copy = dup(sv[1]);
    close(sv[1]);
    cr_expect_eq(poll(&p, 1, 0), 0);
    close(copy);
    cr_expect_eq(poll(&p, 1, 0), 1);
    cr_expect(p.revents & POLLHUP);
    cr_expect_eq(fdutil_check_end(-1), -EINVAL);
    pair(sv);
    cr_assert_eq(fdutil_send(sv[1], "x", 1, NULL, 0), 0);
    cr_expect_eq(fdutil_check_end(sv[0]), -EINVAL, "something is in it");
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, other), 0);
    cr_expect_eq(fdutil_check_end(other[0]), -EINVAL);
    cr_assert_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, other), 0);
    cr_expect_eq(fdutil_check_end(other[0]), -EINVAL);
    cr_assert_eq(pipe(other), 0);
    cr_expect_eq(fdutil_check_end(other[0]), -EINVAL);
    int alone = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    cr_expect_eq(fdutil_check_end(alone), -EINVAL);
    struct sockaddr_un any = {.sun_family = AF_UNIX};
    cr_assert_eq(bind(alone, (struct sockaddr *)&any, sizeof(any.sun_family)), 0);
    cr_assert_eq(listen(alone, 1), 0);
    cr_expect_eq(fdutil_check_end(alone), -EINVAL, "who listens never hangs up");
}
