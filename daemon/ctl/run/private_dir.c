/* SPDX-License-Identifier: Apache-2.0
 *
 * A shared lock on the directory itself marks it as in use. The lock is taken before the marker is
 * created, and only directories with the marker are swept. So a directory that is being created, or
 * is not ours, is never mistaken for an abandoned one.
 */
#include "daemon/ctl/run/private_dir.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "proto/control/run_dir.h"

#define PREFIX "salus-"
#define RANDOM 6            /* random characters that mkdtemp appends */
#define MARKER RUN_DIR_LOCK /* the daemon's own lock file */

int private_dir_make(const char *base, char dir[PRIVATE_DIR_BYTES], int *hold) {
    int marker, err;

    snprintf(dir, PRIVATE_DIR_BYTES, "%s/" PREFIX "XXXXXX", base);
    if (!mkdtemp(dir)) {
        err = -errno;
        dir[0] = '\0';
        return err;
    }
    *hold = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*hold < 0 || flock(*hold, LOCK_SH) < 0) goto undo;
    marker = openat(*hold, MARKER, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (marker < 0) goto undo;
    fdutil_close(&marker);
    return 0;
undo:
    err = -errno;
    fdutil_close(hold);
    rmdir(dir);
    dir[0] = '\0';
    return err;
}

void private_dir_remove(const char *dir) {
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0) return;
    run_dir_clear(fd);
    fdutil_close(&fd);
    rmdir(dir);
}

/* ---- sweeping -------------------------------------------------------------------------------- */

static int is_named_so(const char *name) {
    size_t n = strlen(PREFIX);

    if (strncmp(name, PREFIX, n) != 0 || strlen(name) != n + RANDOM) return 0;
    for (name += n; *name; name++)
        if (!isalnum((unsigned char)*name)) return 0;
    return 1;
}

/* The directory is ours alone, has the marker, and is held by neither salusctl nor a daemon. */
static int is_left(int fd) {
    struct stat st;
    int marker, left;

    if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 0777) != 0700) return 0;
    marker = openat(fd, MARKER, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (marker < 0) return 0;
    left = flock(fd, LOCK_EX | LOCK_NB) == 0 && flock(marker, LOCK_EX | LOCK_NB) == 0;
    fdutil_close(&marker);
    return left;
}

void private_dir_sweep(const char *base) {
    DIR *d = opendir(base);
    struct dirent *e;

    if (!d) return;
    while ((e = readdir(d))) {
        int fd;

        if (!is_named_so(e->d_name)) continue;
        fd = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0) continue;
        if (is_left(fd)) {
            run_dir_clear(fd);
            unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
        }
        fdutil_close(&fd);
    }
    closedir(d);
}
