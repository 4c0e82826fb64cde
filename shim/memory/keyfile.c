/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys as files.
 */
#include "shim/memory/keyfile.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

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

bool keyfile_read(int fd, uint32_t kind, struct keyfile *out) {
    return pread(fd, out, sizeof(*out), 0) == sizeof(*out) && out->magic == KEYFILE_MAGIC &&
           out->kind == kind;
}
