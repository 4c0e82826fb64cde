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

/* systemd's socket; 0 bytes: none */
static struct sockaddr_un listener = {.sun_family = AF_UNIX};
static socklen_t listener_bytes;

int notify_begin(void) {
    const char *path = getenv("NOTIFY_SOCKET");
    size_t n = path ? strlen(path) : 0;

    listener_bytes = 0;
    if (n == 0) return 0;
    if ((*path != '/' && *path != '@') || n >= sizeof(listener.sun_path)) return -EINVAL;
    memcpy(listener.sun_path, path, n + 1);
    if (*path == '@') listener.sun_path[0] = '\0'; /* abstract namespace */
    listener_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
    return 0;
}

int notify_send(const char *state) {
    int fd, err = 0;

    if (!listener_bytes) return 0;
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -errno;
    if (sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&listener,
               listener_bytes) < 0)
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
