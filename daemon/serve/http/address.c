/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses are numeric: no name is resolved.
 */
#include "daemon/serve/http/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/fdutil.h"

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static int parse(const char *text, uint16_t port, union address *out, socklen_t *bytes) {
    memset(out, 0, sizeof(*out));
    if (inet_pton(AF_INET, text, &out->v4.sin_addr) == 1) {
        out->v4.sin_family = AF_INET;
        out->v4.sin_port = htons(port);
        *bytes = sizeof(out->v4);
        return 0;
    }
    if (inet_pton(AF_INET6, text, &out->v6.sin6_addr) != 1) return -EINVAL;
    out->v6.sin6_family = AF_INET6;
    out->v6.sin6_port = htons(port);
    *bytes = sizeof(out->v6);
    return 0;
}

static int open_at(const union address *a, socklen_t bytes, const char **step) {
    int fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), yes = 1, err;

    *step = "socket";
    if (fd < 0) return -errno;
    *step = "setsockopt";
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0) goto fail;
    *step = "bind";
    if (bind(fd, &a->any, bytes) < 0) goto fail;
    *step = "listen";
    if (listen(fd, SOMAXCONN) < 0) goto fail;
    return fd;
fail:
    err = -errno;
    fdutil_close(&fd);
    return err;
}

int address_listen(const char *address, uint16_t *port, char *why, size_t cap) {
    const char *step;
    union address a;
    socklen_t bytes;
    int fd;

    if (parse(address, *port, &a, &bytes)) {
        snprintf(why, cap, "%s is not an IPv4 or IPv6 address", address);
        return -EINVAL;
    }
    fd = open_at(&a, bytes, &step);
    if (fd < 0) {
        snprintf(why, cap, "%s port %u: %s: %s", address, *port, step, strerror(-fd));
        return fd;
    }
    bytes = sizeof(a);
    if (getsockname(fd, &a.any, &bytes) == 0) /* the port is at the same offset for IPv4 and IPv6 */
        *port = ntohs(a.v4.sin_port);
    return fd;
}
