/* SPDX-License-Identifier: Apache-2.0
 *
 * Connects with a timeout for each receive, so that a broker that hangs does not hang the program
 * for ever.
 */
#include "shim/process/dial.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "common/fdutil.h"

#define PATIENCE_S 60 /* a worker that loads a real driver takes seconds */

const char *dial_run_dir(void) {
    const char *dir = getenv("SALUS_RUN_DIR");
    return dir && *dir ? dir : "/run/salus";
}

int dial_broker(void) {
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int n = snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/job.sock", dial_run_dir());
    if (n < 0 || (size_t)n >= sizeof(addr.sun_path)) return -ENAMETOOLONG;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0) return -errno;
    struct timeval patience = {.tv_sec = PATIENCE_S};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
        int err = -errno;
        fdutil_close(&fd);
        return err;
    }
    return fd;
}
