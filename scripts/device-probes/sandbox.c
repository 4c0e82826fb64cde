/* SPDX-License-Identifier: Apache-2.0
 * Checks the Linux features that the project needs and a sandboxed kernel may lack. Uses no GPU. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "scripts/device-probes/probe.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

enum { PAGE = 4096 };

static int sealed(int seals) {
    int fd = memfd_create("s", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, PAGE) != 0 || fcntl(fd, F_ADD_SEALS, seals) != 0) return -1;
    return fd;
}

/* Each check returns true when the feature works; else errno has the reason, or 0 when the call had
 * no effect. */
static bool memfd_seals(void) {
    int fd = sealed(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    if (fd < 0) return false;
    errno = 0;
    return ftruncate(fd, 0) != 0 && errno == EPERM;
}

static bool seal_future_write(void) {
    int fd = memfd_create("s", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, PAGE) != 0) return false;
    char *mine = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mine == MAP_FAILED || fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) != 0) return false;
    mine[0] = 1;
    errno = 0;
    return mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED &&
           errno == EPERM;
}

static bool pidfd_open_(void) {
    pid_t child = fork();
    if (child == 0) _exit(0);
    int fd = (int)syscall(SYS_pidfd_open, child, 0), saved = errno;
    struct pollfd p = {fd, POLLIN, 0};
    bool works = fd >= 0 && poll(&p, 1, 2000) == 1;
    waitpid(child, NULL, 0);
    errno = fd < 0 ? saved : 0;
    return works;
}

static bool scm_rights(void) {
    int pair[2], fd = memfd_create("s", MFD_CLOEXEC);
    if (fd < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) != 0) return false;
    probe_give_fd(pair[0], fd);
    return probe_take_fd(pair[1]) >= 0;
}

static bool peer_credentials(void) {
    int pair[2];
    struct ucred cred = {0};
    socklen_t length = sizeof(cred);
    return socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 &&
           getsockopt(pair[0], SOL_SOCKET, SO_PEERCRED, &cred, &length) == 0 &&
           cred.pid == getpid();
}

static bool peer_pidfd(void) {
    int pair[2], fd = -1;
    socklen_t length = sizeof(fd);
    return socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 &&
           getsockopt(pair[0], SOL_SOCKET, SO_PEERPIDFD, &fd, &length) == 0 && fd >= 0;
}

static bool eventfd_epoll(void) {
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), ep = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event e = {EPOLLIN, {0}};
    uint64_t one = 1;
    return fd >= 0 && ep >= 0 && epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e) == 0 &&
           write(fd, &one, 8) == 8 && epoll_wait(ep, &e, 1, 1000) == 1;
}

static bool timer_fd(void) {
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    struct itimerspec t = {{0, 0}, {0, 1000000}};
    struct pollfd p = {fd, POLLIN, 0};
    return fd >= 0 && timerfd_settime(fd, 0, &t, NULL) == 0 && poll(&p, 1, 1000) == 1;
}

static bool map_fixed_noreplace(void) {
    char *at = (char *)0x210000000000, *p;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    if ((p = mmap(at, PAGE, PROT_READ, flags, -1, 0)) == MAP_FAILED) return false;
    errno = 0;
    return p == at && mmap(at, PAGE, PROT_READ, flags, -1, 0) == MAP_FAILED && errno == EEXIST;
}

static bool large_reservation(void) {
    return mmap(NULL, (size_t)256 << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                0) != MAP_FAILED;
}

static bool mremap_fixed(void) {
    char *a = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char *b = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (a == MAP_FAILED || b == MAP_FAILED) return false;
    a[0] = 5;
    return mremap(a, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, b) == b && b[0] == 5;
}

/* Returns true when the child saw what it should. */
static bool in_child(bool (*looks)(char *), char *page) {
    int status;
    pid_t child = fork();
    if (child == 0) _exit(looks(page) ? 0 : 1);
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool is_wiped(char *page) {
    return page[0] == 0;
}

static bool wipe_on_fork(void) {
    char *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || madvise(p, PAGE, MADV_WIPEONFORK) != 0) return false;
    p[0] = 1;
    errno = 0;
    return in_child(is_wiped, p);
}

static bool is_absent(char *page) {
    unsigned char vec;
    return mincore(page, PAGE, &vec) != 0;
}

static bool dont_fork(void) {
    char *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || madvise(p, PAGE, MADV_DONTFORK) != 0) return false;
    errno = 0;
    return in_child(is_absent, p);
}

static bool userfaultfd_(void) {
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | 1 /* UFFD_USER_MODE_ONLY */);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

static bool wakes(char *page) {
    page[0] = 1;
    return syscall(SYS_futex, page, FUTEX_WAKE, 1, NULL, NULL, 0) >= 0;
}

static bool shared_futex(void) {
    char *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct timespec second = {2, 0};
    if (p == MAP_FAILED) return false;
    pid_t child = fork();
    if (child == 0) {
        probe_sleep_ms(50);
        _exit(!wakes(p));
    }
    long r = syscall(SYS_futex, p, FUTEX_WAIT, 0, &second, NULL, 0);
    int saved = errno;
    waitpid(child, NULL, 0);
    errno = r == 0 || saved == EAGAIN ? 0 : saved;
    return r == 0 || saved == EAGAIN;
}

static bool read_other_process(void) {
    static char here[16] = "here", there[16];
    struct iovec to = {there, 16}, from = {here, 16};
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    bool works = process_vm_readv(child, &to, 1, &from, 1, 0) == 16;
    int saved = errno;
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    errno = saved;
    return works;
}

static bool death_signal(void) {
    return prctl(PR_SET_PDEATHSIG, 0) == 0;
}

static bool own_maps(void) {
    FILE *f = fopen("/proc/self/maps", "r");
    char line[256];
    bool works = f && fgets(line, sizeof(line), f);
    if (f) fclose(f);
    return works;
}

static bool fd_folder(void) {
    char path[64];
    int fd = memfd_create("s", MFD_CLOEXEC);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int again = fd < 0 ? -1 : open(path, O_RDWR | O_CLOEXEC);
    return again >= 0;
}

static bool abstract_or_path_socket(void) {
    struct sockaddr_un a = {AF_UNIX, {0}};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(a.sun_path, sizeof(a.sun_path), "/tmp/probe-%d.sock", (int)getpid());
    bool works = fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0 && listen(fd, 1) == 0;
    unlink(a.sun_path);
    return works;
}

static const struct {
    const char *name;
    bool (*works)(void);
    bool needed; /* required: nothing runs without it */
} asked[] = {{"memfd_seals", memfd_seals, true},
             {"seal_future_write", seal_future_write, true},
             {"pidfd_open", pidfd_open_, false},
             {"scm_rights", scm_rights, true},
             {"so_peercred", peer_credentials, true},
             {"so_peerpidfd", peer_pidfd, false},
             {"eventfd_epoll", eventfd_epoll, true},
             {"timerfd", timer_fd, true},
             {"map_fixed_noreplace", map_fixed_noreplace, true},
             {"reservation_of_256_gib", large_reservation, true},
             {"mremap_fixed", mremap_fixed, false},
             {"madv_wipeonfork", wipe_on_fork, true},
             {"madv_dontfork", dont_fork, false},
             {"userfaultfd", userfaultfd_, false},
             {"futex_between_processes", shared_futex, true},
             {"process_vm_readv", read_other_process, false},
             {"pr_set_pdeathsig", death_signal, false},
             {"proc_self_maps", own_maps, false},
             {"open_through_proc_self_fd", fd_folder, false},
             {"unix_socket_with_a_path", abstract_or_path_socket, true}};
enum { ASKED = sizeof(asked) / sizeof(asked[0]) };

int main(void) {
    char lacks[300] = "";
    int needed = 0, works = 0;
    probe_begin("sandbox", "Which of the kernel's services that the project uses work here?");
    for (int i = 0; i < ASKED; i++) {
        errno = 0;
        if (asked[i].works()) {
            probe_fact(asked[i].name, "works");
            works++;
            continue;
        }
        probe_fact(asked[i].name, "%s", errno ? strerror(errno) : "has no effect");
        needed += asked[i].needed;
        snprintf(lacks + strlen(lacks), sizeof(lacks) - strlen(lacks), " %s%s", asked[i].name,
                 asked[i].needed ? " (needed)" : "");
    }
    probe_figure(needed, "services", "needed_and_missing");
    return probe_end(true, lacks[0] ? "%d of %d work; not:%s" : "%d of %d work%s", works,
                     (int)ASKED, lacks);
}
