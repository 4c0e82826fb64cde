/* SPDX-License-Identifier: Apache-2.0
 *
 * A job maps windows of many GiB without backing, and gets descriptors of memfds and eventfds.
 */
#include "daemon/ctl/doctor/checks_system.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "daemon/ctl/files/temporary.h"

#define DESCRIPTORS 64  /* descriptors that a job needs for Salus, and for the program itself */
#define PAGE_BYTES 4096 /* size of a test mapping */
#define WINDOWS_BYTES (64ull << 30) /* address space of both windows, with a margin */

static void look_at_limits(struct findings *f) {
    struct rlimit files, space, size;

    getrlimit(RLIMIT_NOFILE, &files);
    getrlimit(RLIMIT_AS, &space);
    getrlimit(RLIMIT_FSIZE, &size);
    if (files.rlim_cur < DESCRIPTORS)
        findings_add(f, FINDINGS_ERROR, "limits", "raise the limit with 'ulimit -n 1024'",
                     "a process may open only %lu files (ulimit -n)",
                     (unsigned long)files.rlim_cur);
    if (space.rlim_cur < WINDOWS_BYTES)
        findings_add(f, FINDINGS_ERROR, "limits", "raise the limit with 'ulimit -v unlimited'",
                     "a process may have only %lu MiB of address space (ulimit -v); a CUDA program "
                     "reserves 64 GiB",
                     (unsigned long)(space.rlim_cur >> 20));
    if (size.rlim_cur != RLIM_INFINITY)
        findings_add(f, FINDINGS_WARNING, "limits", "raise the limit with 'ulimit -f unlimited'",
                     "a file may have only %lu MiB (ulimit -f), which also limits the memory of a "
                     "private daemon's GPU",
                     (unsigned long)(size.rlim_cur >> 20));
    if (files.rlim_cur >= DESCRIPTORS && space.rlim_cur >= WINDOWS_BYTES)
        findings_add(f, FINDINGS_OK, "limits", NULL,
                     "the limits of open files and address space suffice");
}

static int try_memfd(void) {
    int fd = fdutil_memfd("salus-doctor", PAGE_BYTES, 0), err = fd < 0 ? fd : 0;
    void *p = err ? MAP_FAILED : mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (!err && p == MAP_FAILED) err = -errno;
    if (p != MAP_FAILED) munmap(p, PAGE_BYTES);
    fdutil_close(&fd);
    return err;
}

static int try_eventfd(void) {
    int fd = eventfd(0, EFD_CLOEXEC), err = fd < 0 ? -errno : 0;

    fdutil_close(&fd);
    return err;
}

static int try_socket(void) {
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), err = fd < 0 ? -errno : 0;

    fdutil_close(&fd);
    return err;
}

static int try_wipe(void) {
    void *p = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int err = p == MAP_FAILED ? -errno : 0;

    if (!err && madvise(p, PAGE_BYTES, MADV_WIPEONFORK) < 0) err = -errno;
    if (p != MAP_FAILED) munmap(p, PAGE_BYTES);
    return err;
}

static int try_windows(void) {
    void *p =
        mmap(NULL, WINDOWS_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (p == MAP_FAILED) return -errno;
    munmap(p, WINDOWS_BYTES);
    return 0;
}

/* Tests system calls that a container's seccomp filter or an old kernel may refuse. */
static void look_at_calls(struct findings *f) {
    static const struct {
        const char *name;
        int (*try_it)(void);
    } calls[] = {{"memfd_create with shared memory", try_memfd},
                 {"eventfd", try_eventfd},
                 {"sockets of type SOCK_SEQPACKET", try_socket},
                 {"MADV_WIPEONFORK", try_wipe},
                 {"64 GiB of address space", try_windows}};
    int wrong = 0;

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        int err = calls[i].try_it();

        if (!err) continue;
        wrong++;
        findings_add(f, FINDINGS_ERROR, "kernel",
                     "allow the call in the container's seccomp profile, or raise the limit; Linux "
                     "5.10 or later is required",
                     "%s: %s", calls[i].name, strerror(-err));
    }
    if (!wrong)
        findings_add(f, FINDINGS_OK, "kernel", NULL,
                     "the kernel has all system calls that a job makes");
}

static void look_at_overcommit(struct findings *f) {
    FILE *file = fopen("/proc/sys/vm/overcommit_memory", "re");
    int mode = 0;

    if (!file) return;
    if (fscanf(file, "%d", &mode) == 1 && mode == 2)
        findings_add(f, FINDINGS_WARNING, "memory",
                     "allow overcommit with 'sysctl vm.overcommit_memory=0'",
                     "vm.overcommit_memory is 2: address space that a program only reserves counts "
                     "as memory");
    fclose(file);
}

static void look_at_directory(struct findings *f) {
    char base[PATH_MAX], why[TEMPORARY_WHY_BYTES];

    if (temporary_find(TEMPORARY_RUN, base, why) < 0)
        findings_add(f, FINDINGS_WARNING, "directory",
                     "set TMPDIR to a directory that you can write to",
                     "'salusctl run' cannot start a private salusd: %s", why);
    else
        findings_add(f, FINDINGS_OK, "directory", NULL,
                     "a private salusd would use a directory in %.300s", base);
}

void checks_system(struct findings *f) {
    look_at_limits(f);
    look_at_calls(f);
    look_at_overcommit(f);
    look_at_directory(f);
}
