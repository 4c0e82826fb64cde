/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded into a daemon: makes one of its next system calls fail as if descriptors or memory had
 * run out. The test selects the call in $FAIL_DIR/<program>, a file with two numbers per call in
 * the order of enum call: the number of the call that fails (1: the next one; 0: none), and its
 * errno.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum call { ACCEPT4, MEMFD_CREATE, MMAP, EVENTFD, SENDMSG, EPOLL_CTL, RECVMSG, CALLS };

struct plan {
    _Atomic int countdown; /* 1: the next one fails */
    _Atomic int error;
};

static struct plan *plans;

#define REAL(name)                 \
    static __typeof__(name) *real; \
    if (!real) real = (__typeof__(real))dlsym(RTLD_NEXT, #name)

void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset);

static __attribute__((constructor)) void begin(void) {
    __typeof__(mmap) *map = (__typeof__(map))dlsym(RTLD_NEXT, "mmap");
    const char *dir = getenv("FAIL_DIR");
    char path[256];

    if (!dir) return;
    snprintf(path, sizeof(path), "%s/%s", dir, program_invocation_short_name);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    void *p = map(NULL, sizeof(*plans) * CALLS, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (p != MAP_FAILED) plans = p;
}

/* Returns true when this call must fail, with errno set. */
static int fails(enum call call) {
    if (!plans || atomic_load(&plans[call].countdown) == 0) return 0;
    if (atomic_fetch_sub(&plans[call].countdown, 1) != 1) return 0;
    errno = atomic_load(&plans[call].error);
    return 1;
}

int accept4(int fd, struct sockaddr *addr, socklen_t *n, int flags) {
    REAL(accept4);
    return fails(ACCEPT4) ? -1 : real(fd, addr, n, flags);
}

int memfd_create(const char *name, unsigned flags) {
    REAL(memfd_create);
    return fails(MEMFD_CREATE) ? -1 : real(name, flags);
}

/* Fails only for files, so that the C library's own mappings succeed. */
void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset) {
    REAL(mmap);
    return fd >= 0 && fails(MMAP) ? MAP_FAILED : real(at, n, prot, flags, fd, offset);
}

int eventfd(unsigned value, int flags) {
    static int (*real)(unsigned, int);
    if (!real) real = (int (*)(unsigned, int))dlsym(RTLD_NEXT, "eventfd");
    return fails(EVENTFD) ? -1 : real(value, flags);
}

/* Fails only for messages with descriptors. */
ssize_t sendmsg(int fd, const struct msghdr *msg, int flags) {
    REAL(sendmsg);
    return msg->msg_controllen && fails(SENDMSG) ? -1 : real(fd, msg, flags);
}

/* Returns the message without the descriptors that were sent with it. */
ssize_t recvmsg(int fd, struct msghdr *msg, int flags) {
    REAL(recvmsg);
    if (fails(RECVMSG)) msg->msg_controllen = 0;
    return real(fd, msg, flags);
}

/* libuv takes any failure after its first call for a bug of its caller. */
int epoll_ctl(int epoll, int op, int fd, struct epoll_event *event) {
    REAL(epoll_ctl);
    return op == EPOLL_CTL_ADD && fails(EPOLL_CTL) ? -1 : real(epoll, op, fd, event);
}
