/* SPDX-License-Identifier: Apache-2.0
 *
 * Stores keys in files and sockets.
 */
#include "shim/ipc/keyfile.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fdutil.h"

#define KEYFILE_MAGIC 0x59454b53u /* "SKEY" */

int keyfile_create(struct keyfile *k) {
    k->magic = KEYFILE_MAGIC;
    int fd = memfd_create("salus-key", MFD_ALLOW_SEALING);
    if (fd < 0) return -errno;
    if (pwrite(fd, k, sizeof(*k), 0) == sizeof(*k) &&
        !fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE))
        return fd;
    int err = -errno;
    close(fd);
    return err;
}

int keyfile_pair(int *fd, int *end) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) return -errno;
    *fd = pair[0];
    *end = pair[1];
    if (fcntl(*fd, F_SETFD, 0) == 0) return 0;
    int err = -errno;
    close(*fd);
    close(*end);
    return err;
}

int keyfile_put(int end, struct keyfile *k) {
    k->magic = KEYFILE_MAGIC;
    return fdutil_send(end, k, sizeof(*k), NULL, 0);
}

/* Reads the key and leaves it there for other readers. */
static bool peek(int fd, struct keyfile *out) {
    int domain = 0, type = 0;
    socklen_t bytes = sizeof(int);
    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 && domain == AF_UNIX &&
           getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && type == SOCK_SEQPACKET &&
           recv(fd, out, sizeof(*out), MSG_PEEK | MSG_DONTWAIT | MSG_TRUNC) == sizeof(*out);
}

bool keyfile_read(int fd, uint32_t kind, struct keyfile *out) {
    return (pread(fd, out, sizeof(*out), 0) == sizeof(*out) || peek(fd, out)) &&
           out->magic == KEYFILE_MAGIC && out->kind == kind;
}
