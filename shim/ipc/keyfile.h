/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors that carry a key from process to process, for programs to send each other. Files
 * without a name keep nothing alive: what the key opens may be gone. Of a pair of sockets one end
 * is the descriptor, in which the key waits to be looked at; who has the other end sees when nobody
 * has the descriptor any more.
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

/* The descriptor is the caller's, open across exec as CUDA's are; -errno. Fills in the magic. */
int keyfile_create(struct keyfile *k);

/* The descriptor, likewise, and its other end, close-on-exec; -errno. */
int keyfile_pair(int *fd, int *end);
/* Puts the key into the descriptor, through its other end; once. Fills in the magic; -errno. */
int keyfile_put(int end, struct keyfile *k);

/* False for any other descriptor, or of another kind. The descriptor stays the caller's. */
bool keyfile_read(int fd, uint32_t kind, struct keyfile *out);

#endif
