/* SPDX-License-Identifier: Apache-2.0
 *
 * A descriptor that came through an exec is not close-on-exec.
 */
#include "daemon/ctl/run/inherited.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/fdutil.h"

static void replace(int fd) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null >= 0 && null != fd) dup2(null, fd);
    if (null > STDERR_FILENO) fdutil_close(&null);
}

void inherited_close(void) {
    DIR *d = opendir("/proc/self/fd");
    struct dirent *e;

    replace(STDIN_FILENO);
    replace(STDOUT_FILENO);
    while (d && (e = readdir(d))) {
        int fd = atoi(e->d_name);
        int flags = fd > STDERR_FILENO ? fcntl(fd, F_GETFD) : -1;

        if (flags >= 0 && !(flags & FD_CLOEXEC)) fdutil_close(&fd);
    }
    if (d) closedir(d);
}
