/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors that carry a key from process to process, which programs send to each other. An
 * anonymous file keeps nothing alive: the memory of its key may have been freed. In a pair of
 * sockets one end is the descriptor, in which the key waits to be read. The holder of the other end
 * notices when every copy of the descriptor has been closed.
 */
#ifndef SHIM_IPC_KEYFILE_H
#define SHIM_IPC_KEYFILE_H

#include <stdbool.h>
#include <stdint.h>

#define KEYFILE_ALLOCATION 1u
#define KEYFILE_POOL 2u

struct keyfile {
    uint32_t magic, kind;
    uint64_t key[2];
};

/* Makes a descriptor, which the caller owns, open across exec as CUDA's are; or -errno. Sets the
 * magic. */
int keyfile_create(struct keyfile *k);

/* Makes such a descriptor and its other end, which is close-on-exec; or -errno. */
int keyfile_pair(int *fd, int *end);
/* Puts the key into the descriptor, through its other end; once. Sets the magic; -errno on failure.
 */
int keyfile_put(int end, struct keyfile *k);

/* Returns false for any other descriptor, or one of another kind. The caller still owns the
 * descriptor. */
bool keyfile_read(int fd, uint32_t kind, struct keyfile *out);

#endif
