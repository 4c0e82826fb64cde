/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors across processes. Everything from a peer is checked before use: seals and size of a
 * memfd, length of a message and number of its descriptors.
 */
#include "common/fdutil.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

/* Linux 5.1; older headers lack the name. */
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

union fd_control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int) * FDUTIL_MAX_FDS)];
};

static struct {
    int resource;
    bool raised;
    struct rlimit before;
} limits[] = {{.resource = RLIMIT_NOFILE}, {.resource = RLIMIT_FSIZE}};

#define LIMITS (sizeof(limits) / sizeof(limits[0]))

void fdutil_raise_limits(void) {
    for (size_t i = 0; i < LIMITS; i++) {
        struct rlimit limit;
        if (getrlimit(limits[i].resource, &limit) < 0) continue;
        limits[i].before = limit;
        limits[i].raised = true;
        limit.rlim_cur = limit.rlim_max;
        setrlimit(limits[i].resource, &limit);
    }
    signal(SIGXFSZ, SIG_IGN);
}

void fdutil_lower_limits(int pid) {
    for (size_t i = 0; i < LIMITS; i++)
        if (limits[i].raised) prlimit(pid, limits[i].resource, &limits[i].before, NULL);
}

uint64_t fdutil_limit(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) < 0 ? UINT64_MAX : limit.rlim_cur;
}

int fdutil_scarce(int err) {
    return err == -EMFILE || err == -ENFILE || err == -ENOMEM || err == -ENOBUFS ||
           err == -ETOOMANYREFS;
}

int fdutil_memfd(const char *name, size_t bytes, int open_seals) {
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return -errno;
    int seals = F_SEAL_SHRINK | F_SEAL_GROW | (open_seals ? 0 : F_SEAL_SEAL);
    if (ftruncate(fd, (off_t)bytes) < 0 || fcntl(fd, F_ADD_SEALS, seals) < 0) {
        int err = -errno;
        fdutil_close(&fd);
        return err;
    }
    return fd;
}

int fdutil_seal_readonly(int fd) {
    return fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) < 0 ? -errno : 0;
}

int fdutil_check_sealed(int fd, size_t bytes) {
    const int needed = F_SEAL_SHRINK | F_SEAL_GROW;
    int seals = fcntl(fd, F_GET_SEALS); /* fails on any file that is not a memfd */
    if (seals < 0 || (seals & needed) != needed) return -EINVAL;
    struct stat st;
    if (fstat(fd, &st) < 0 || st.st_size < 0 || (uint64_t)st.st_size < bytes) return -EINVAL;
    return 0;
}

int fdutil_check_lasting(int fd, uint64_t *bytes) {
    int seals = fcntl(fd, F_GET_SEALS);
    struct statfs fs;
    struct stat st;
    /* Only tmpfs: touching a page of hugetlbfs raises SIGBUS when there is none left. */
    if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstatfs(fd, &fs) < 0 || fs.f_type != TMPFS_MAGIC)
        return -EINVAL;
    if (fstat(fd, &st) < 0 || st.st_size < 0) return -EINVAL;
    *bytes = (uint64_t)st.st_size;
    return 0;
}

int fdutil_is_memfd(int fd) {
    return fd >= 0 && fcntl(fd, F_GET_SEALS) >= 0;
}

int fdutil_written(int fd, uint64_t from, uint64_t *at, uint64_t *end) {
    off_t data = lseek(fd, (off_t)from, SEEK_DATA);
    off_t hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);
    if (hole < 0) return -errno;
    *at = (uint64_t)data;
    *end = (uint64_t)hole;
    return 0;
}

static int is_pair(int fd) {
    struct sockaddr_un peer;
    socklen_t peer_bytes = sizeof(peer);
    int domain = 0, type = 0;
    socklen_t bytes = sizeof(int);
    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 && domain == AF_UNIX &&
           getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && type == SOCK_SEQPACKET &&
           getpeername(fd, (struct sockaddr *)&peer, &peer_bytes) == 0;
}

/* A descriptor that is still in the socket could be slow to close, so the socket must be empty. */
int fdutil_check_end(int fd) {
    char byte;
    if (!is_pair(fd) || shutdown(fd, SHUT_RD) < 0) return -EINVAL;
    return recv(fd, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT) == 0 ? 0 : -EINVAL;
}

int fdutil_send(int sock, const void *msg, size_t bytes, const int *fds, int nfds) {
    if (nfds < 0 || nfds > FDUTIL_MAX_FDS || bytes == 0) return -EINVAL;
    union fd_control control;
    struct iovec iov = {.iov_base = (void *)msg, .iov_len = bytes};
    struct msghdr hdr = {.msg_iov = &iov, .msg_iovlen = 1};
    if (nfds > 0) {
        size_t fd_bytes = sizeof(int) * (size_t)nfds;
        memset(&control, 0, sizeof(control));
        hdr.msg_control = control.bytes;
        hdr.msg_controllen = CMSG_SPACE(fd_bytes);
        struct cmsghdr *c = CMSG_FIRSTHDR(&hdr);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(fd_bytes);
        memcpy(CMSG_DATA(c), fds, fd_bytes);
    }
    ssize_t n;
    do
        n = sendmsg(sock, &hdr, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n < 0) return -errno;
    return (size_t)n == bytes ? 0 : -EMSGSIZE;
}

/* Moves every descriptor of the message into `got`, which has space for all that fit the control
 * buffer. */
static int take_fds(struct msghdr *hdr, int *got) {
    int count = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(hdr); c; c = CMSG_NXTHDR(hdr, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
        int n = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        for (int i = 0; i < n && count < FDUTIL_MAX_FDS; i++)
            memcpy(&got[count++], CMSG_DATA(c) + sizeof(int) * (size_t)i, sizeof(int));
    }
    return count;
}

/* recvmsg reports ECONNRESET once, before the peer's last messages, if the peer left data
 * unread. */
static ssize_t receive(int sock, struct msghdr *hdr) {
    size_t control_bytes = hdr->msg_controllen;
    int resets = 0;
    for (;;) {
        hdr->msg_controllen = control_bytes;
        ssize_t n = recvmsg(sock, hdr, MSG_CMSG_CLOEXEC);
        if (n >= 0) return n;
        if (errno != EINTR && (errno != ECONNRESET || resets++)) return -errno;
    }
}

/* True if fewer descriptors came than were sent, and not because the buffers were too small. */
static int fds_lost(const struct msghdr *hdr, int count, int room) {
    return (hdr->msg_flags & MSG_CTRUNC) && room > 0 && count < FDUTIL_MAX_FDS;
}

int fdutil_recv(int sock, void *msg, size_t cap, int *fds, int *nfds) {
    union fd_control control;
    struct iovec iov = {.iov_base = msg, .iov_len = cap};
    struct msghdr hdr = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.bytes,
                         .msg_controllen = sizeof(control.bytes)};
    int room = fds && nfds ? *nfds : 0;
    if (nfds) *nfds = 0;
    ssize_t n = receive(sock, &hdr);
    if (n < 0) return (int)n;
    int got[FDUTIL_MAX_FDS];
    int count = take_fds(&hdr, got), lost = fds_lost(&hdr, count, room);
    int bad = (hdr.msg_flags & (MSG_TRUNC | (lost ? 0 : MSG_CTRUNC))) || count > room ||
              (n == 0 && count > 0);
    for (int i = 0; (bad || lost) && i < count; i++)
        fdutil_close(&got[i]);
    if (bad) return -EPROTO;
    if (lost) {
        *nfds = FDUTIL_LOST;
        return (int)n;
    }
    for (int i = 0; i < count; i++)
        fds[i] = got[i];
    if (nfds) *nfds = count;
    return (int)n;
}

void fdutil_close(int *fd) {
    int saved = errno;
    if (*fd >= 0) close(*fd);
    *fd = -1;
    errno = saved;
}

uint64_t fdutil_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
