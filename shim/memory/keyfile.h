/* SPDX-License-Identifier: Apache-2.0
 *
 * Files without a name that carry a key from process to process, for descriptors that programs send
 * each other. They keep nothing alive: what the key opens may be gone.
 */
#ifndef SHIM_MEMORY_KEYFILE_H
#define SHIM_MEMORY_KEYFILE_H

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
/* False for any other file, or of another kind. The descriptor stays the caller's. */
bool keyfile_read(int fd, uint32_t kind, struct keyfile *out);

#endif
