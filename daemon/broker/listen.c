/* SPDX-License-Identifier: Apache-2.0
 *
 * One broker per run directory: the holder of the lock may replace the sockets there.
 */
#include "daemon/broker/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "proto/control/run_dir.h"

int listen_check_dir(const char *run_dir, char *why, size_t cap) {
    struct stat st;

    if (stat(run_dir, &st) < 0) return 0;
    if (st.st_uid != geteuid() && st.st_uid != 0)
        snprintf(
            why, cap,
            "%s: belongs to user %u, who could answer jobs in salusd's place; name a directory "
            "of your own (--run-dir), or run 'chown %u %s'",
            run_dir, (unsigned)st.st_uid, (unsigned)geteuid(), run_dir);
    else if (st.st_mode & 022)
        snprintf(why, cap,
                 "%s: other users can write to this directory (mode %04o), and could answer jobs "
                 "in salusd's place; run 'chmod go-w %s', or name another directory (--run-dir)",
                 run_dir, (unsigned)st.st_mode & 07777, run_dir);
    else
        return 0;
    return -EPERM;
}

int listen_lock(const char *run_dir, char *why, size_t cap) {
    char path[512], holder[16] = "";
    int fd, err;

    if (mkdir(run_dir, 0755) < 0 && errno != EEXIST) {
        err = -errno;
        snprintf(why, cap, "%s: cannot be created: %s", run_dir, strerror(-err));
        return err;
    }
    err = listen_check_dir(run_dir, why, cap);
    if (err < 0) return err;
    snprintf(path, sizeof(path), "%s/" RUN_DIR_LOCK, run_dir);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) {
        err = -errno;
        snprintf(why, cap, "%s: %s", path, strerror(-err));
        return err;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        ssize_t n = pread(fd, holder, sizeof(holder) - 1, 0);

        holder[n > 0 ? strcspn(holder, "\n") : 0] = '\0';
        snprintf(why, cap, "%s: another salusd%s%s serves this directory; see 'salusctl status'",
                 run_dir, *holder ? " with pid " : "", holder);
        fdutil_close(&fd);
        return -EBUSY;
    }
    snprintf(holder, sizeof(holder), "%d\n", (int)getpid());
    if (ftruncate(fd, 0) < 0 || pwrite(fd, holder, strlen(holder), 0) < 0) {
        err = -errno;
        snprintf(why, cap, "%s: %s", path, strerror(-err));
        fdutil_close(&fd);
        return err;
    }
    return fd;
}

/* Returns false, with the reason, if the path is taken by a file that is no socket. */
static bool is_free(const char *path, char *why, size_t cap) {
    struct stat st;

    if (lstat(path, &st) < 0 || S_ISSOCK(st.st_mode)) return true;
    snprintf(why, cap,
             "%s: the file exists and is not a socket; move it away, or name another directory "
             "(--run-dir)",
             path);
    return false;
}

int listen_open(const char *path, mode_t mode, char *why, size_t cap) {
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    const char *step = "socket";
    int fd, err;

    if (strlen(path) >= sizeof(addr.sun_path)) {
        snprintf(why, cap,
                 "%s: the path is too long for a socket; name a shorter directory (--run-dir)",
                 path);
        return -ENAMETOOLONG;
    }
    if (!is_free(path, why, cap)) return -EEXIST;
    strcpy(addr.sun_path, path);
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) goto fail;
    step = "unlink";
    if (unlink(path) < 0 && errno != ENOENT) goto fail;
    step = "bind";
    if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) goto fail;
    step = "chmod"; /* nobody can connect before it listens */
    if (chmod(path, mode) < 0) goto fail;
    step = "listen";
    if (listen(fd, SOMAXCONN) < 0) goto fail;
    return fd;
fail:
    err = -errno;
    snprintf(why, cap, "%s: %s: %s", path, step, strerror(-err));
    fdutil_close(&fd);
    return err;
}

void listen_remove(const char *run_dir) {
    int fd = open(run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0) return;
    run_dir_clear(fd);
    fdutil_close(&fd);
    rmdir(run_dir);
}
