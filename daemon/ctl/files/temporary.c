/* SPDX-License-Identifier: Apache-2.0
 *
 * Only writing reveals whether a file system is full or read-only: access(2) checks modes, and for
 * root not even these.
 */
#include "daemon/ctl/files/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/fdutil.h"

#define PROBE "/.salus-probe-XXXXXX"
#define PROBE_BYTES 4096 /* more than a daemon writes there */

/* A directory, given by its path or by a variable. */
struct candidate {
    const char *variable, *path;
};

static const struct candidate orders[][4] = {
    [TEMPORARY_RUN] = {{.variable = "XDG_RUNTIME_DIR"},
                       {.variable = "TMPDIR"},
                       {.path = "/tmp"},
                       {.path = "/dev/shm"}},
    [TEMPORARY_FILE] = {{.variable = "TMPDIR"},
                        {.path = "/tmp"},
                        {.variable = "XDG_RUNTIME_DIR"},
                        {.path = "/dev/shm"}},
};

#define CANDIDATES (sizeof(orders[0]) / sizeof(orders[0][0]))

/* Writes a probe with SIGXFSZ ignored, which would otherwise end us before the error is seen. */
static int write_probe(int fd) {
    static const char bytes[PROBE_BYTES];
    struct sigaction before, ignore = {.sa_handler = SIG_IGN};

    sigaction(SIGXFSZ, &ignore, &before);
    ssize_t n = write(fd, bytes, sizeof(bytes));
    int err = n < 0 ? -errno : n < (ssize_t)sizeof(bytes) ? -ENOSPC : 0;
    sigaction(SIGXFSZ, &before, NULL);
    return err;
}

/* Some file systems accept a file's name but none of its bytes, and report that at the write, or
 * over a network at the close. */
static int probe_file(char *path) {
    int fd = mkstemp(path), err;

    if (fd < 0) return -errno;
    err = write_probe(fd);
    if (close(fd) < 0 && !err) err = -errno;
    unlink(path);
    return err;
}

/* Tests whether a socket can be bound at an unused path. */
static int probe_socket(const char *path) {
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;

    if (fd < 0) return -errno;
    if (snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path) >= (int)sizeof(addr.sun_path))
        err = -ENAMETOOLONG;
    else if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
        err = -errno;
    else
        unlink(path);
    fdutil_close(&fd);
    return err;
}

/* Returns why the directory cannot be used; NULL: it can. */
static const char *what_is_wrong(enum temporary_use use, const char *dir) {
    char path[PATH_MAX];
    int err;

    if (!dir || !*dir) return "is not set";
    if (*dir != '/') return "is not an absolute path";
    if (use == TEMPORARY_RUN && strlen(dir) > TEMPORARY_RUN_MAX) return "is too long for a socket";
    if (snprintf(path, sizeof(path), "%s" PROBE, dir) >= (int)sizeof(path)) return "is too long";
    err = probe_file(path);
    if (!err && use == TEMPORARY_RUN) err = probe_socket(path);
    return err ? strerror(-err) : NULL;
}

static void take(const char *from, char dir[PATH_MAX]) {
    size_t n;

    snprintf(dir, PATH_MAX, "%s", from);
    for (n = strlen(dir); n > 1 && dir[n - 1] == '/'; n--)
        dir[n - 1] = '\0';
}

int temporary_find(enum temporary_use use, char dir[PATH_MAX], char why[TEMPORARY_WHY_BYTES]) {
    size_t n = 0;

    *why = '\0';
    for (size_t i = 0; i < CANDIDATES; i++) {
        const struct candidate *c = &orders[use][i];
        const char *path = c->variable ? getenv(c->variable) : c->path;
        const char *wrong = what_is_wrong(use, path);

        if (!wrong) {
            take(path, dir);
            *why = '\0';
            return 0;
        }
        if (n >= TEMPORARY_WHY_BYTES) continue;
        n += (size_t)snprintf(why + n, TEMPORARY_WHY_BYTES - n, "%s%s%s%.100s%s%s", n ? "; " : "",
                              c->variable ? c->variable : "",
                              c->variable && path && *path ? "=" : "", path ? path : "",
                              strncmp(wrong, "is ", 3) == 0 ? " " : ": ", wrong);
    }
    return -ENOENT;
}

/* Sets `why` to the reason and the remedy. */
static int refuse(int err, const char *reason, char why[TEMPORARY_WHY_BYTES]) {
    snprintf(
        why, TEMPORARY_WHY_BYTES,
        "cannot create a temporary file: %.900s; set TMPDIR to a directory that you can write to",
        reason);
    return err;
}

int temporary_open(const char *name, char path[PATH_MAX], char why[TEMPORARY_WHY_BYTES]) {
    char dir[PATH_MAX], reason[TEMPORARY_WHY_BYTES];
    int fd, err = temporary_find(TEMPORARY_FILE, dir, reason);

    if (err) return refuse(err, reason, why);
    fd = snprintf(path, PATH_MAX, "%s/%s-XXXXXX", dir, name) < PATH_MAX ? mkostemp(path, O_CLOEXEC)
                                                                        : -1;
    if (fd >= 0) return fd;
    err = -errno;
    snprintf(reason, sizeof(reason), "%.500s: %s", path, strerror(-err));
    return refuse(err, reason, why);
}
