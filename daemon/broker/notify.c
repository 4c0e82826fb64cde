/* SPDX-License-Identifier: Apache-2.0
 *
 * sd_notify without libsystemd.
 */
#include "daemon/broker/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int notify_send(const char *state) {
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    size_t n = path ? strlen(path) : 0;
    int fd, err = 0;

    if (n == 0) return 0;
    if ((*path != '/' && *path != '@') || n >= sizeof(addr.sun_path)) return -EINVAL;
    memcpy(addr.sun_path, path, n);
    if (*path == '@') addr.sun_path[0] = '\0'; /* abstract namespace */
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -errno;
    if (sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&addr,
               (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) < 0)
        err = -errno;
    close(fd);
    return err;
}

uint64_t notify_watchdog_ms(void) {
    const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    uint64_t n = usec ? strtoull(usec, NULL, 10) : 0;

    if (pid && strtoll(pid, NULL, 10) != getpid()) return 0;
    return n / 2000;
}
