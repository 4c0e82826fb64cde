/* SPDX-License-Identifier: Apache-2.0
 *
 * One broker a run directory: whoever holds the lock may replace the sockets it finds there.
 */
#include "daemon/broker/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "daemon/broker/worker/spawn.h"

int listen_lock(const char *run_dir, char *why, size_t cap) {
    char path[512], holder[16] = "";
    int fd, err;

    if (mkdir(run_dir, 0755) < 0 && errno != EEXIST) {
        err = -errno;
        snprintf(why, cap, "%s: cannot be created: %s", run_dir, strerror(-err));
        return err;
    }
    snprintf(path, sizeof(path), "%s/salusd.lock", run_dir);
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

int listen_open(const char *path, mode_t mode, char *why, size_t cap) {
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    const char *step = "socket";
    int fd, err;

    if (strlen(path) >= sizeof(addr.sun_path)) {
        snprintf(why, cap, "%s: too long for a socket", path);
        return -ENAMETOOLONG;
    }
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
    static const char *const files[] = {"notify", "salusd.lock", SPAWN_CRASH_EVENTS};
    char path[512];

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", run_dir, files[i]);
        unlink(path);
    }
    rmdir(run_dir);
}
