/* SPDX-License-Identifier: Apache-2.0
 *
 * Directories are held by descriptors and must belong to the caller, and no links are followed
 * below the first. So a user who runs with another user's HOME neither reads nor leaves anything
 * there.
 */
#include "daemon/ctl/environment/last_notice.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fdutil.h"

#define NOTICE_MAX 4096
#define FILE_NAME "said"

/* Returns `fd` if the directory is ours and nobody else may write there, else -1. Takes `fd` over.
 */
static int only_ours(int fd) {
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 022)) return fd;
    fdutil_close(&fd);
    return -1;
}

/* Opens a directory below `at`, created if missing. Takes `at` over. */
static int descend(int at, const char *name) {
    int fd = -1;

    if (at < 0) return -1;
    if (mkdirat(at, name, 0700) == 0 || errno == EEXIST)
        fd = only_ours(openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    fdutil_close(&at);
    return fd;
}

static int open_given(const char *path) {
    if (!path || *path != '/') return -1;
    return only_ours(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

/* Returns -1 if there is none. A configured state directory that is missing is not created. */
static int open_directory(void) {
    const char *state = getenv("XDG_STATE_HOME");

    if (state && *state) return descend(open_given(state), "salus");
    return descend(descend(descend(open_given(getenv("HOME")), ".local"), "state"), "salus");
}

static bool same_as_kept(int dir, const char *text) {
    char kept[NOTICE_MAX + 1];
    int fd = openat(dir, FILE_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, kept, sizeof(kept));

    fdutil_close(&fd);
    return n >= 0 && (size_t)n == strlen(text) && memcmp(kept, text, (size_t)n) == 0;
}

/* Writes to a name of its own first, so that concurrent runs do not mix their lines. */
static void keep(int dir, const char *text) {
    char name[32];
    int fd;
    bool whole;

    snprintf(name, sizeof(name), FILE_NAME ".%d", (int)getpid());
    fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return;
    whole = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    fdutil_close(&fd);
    if (!whole || renameat(dir, name, dir, FILE_NAME) < 0) unlinkat(dir, name, 0);
}

bool last_notice_is_new(const char *text) {
    int dir = open_directory();
    bool old = dir >= 0 && strlen(text) <= NOTICE_MAX && same_as_kept(dir, text);

    if (dir >= 0 && !old && strlen(text) <= NOTICE_MAX) keep(dir, text);
    fdutil_close(&dir);
    return !old;
}
