/* SPDX-License-Identifier: Apache-2.0
 *
 * A table of names with nested scopes: the innermost entry of a name wins, and closing a scope
 * removes its entries. The table owns its memory, but not the texts. Hashes are seeded at random,
 * since clients choose the names. Not thread-safe while entries are added.
 */
#ifndef DAEMON_DEVICE_SOFT_PTX_PTX_NAMES_H
#define DAEMON_DEVICE_SOFT_PTX_PTX_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct ptx_name {
    const char *text;
    uint32_t len, depth;
    uint64_t hash;
    int32_t next;  /* older entry of the same bucket, or -1 */
    uint32_t kind; /* chosen by the caller */
    uint32_t index;
    void *item;
};

struct ptx_names {
    struct ptx_name *entries;
    uint32_t count, cap;
    int32_t *buckets;
    uint32_t bucket_count; /* a power of two, or 0 */
    uint32_t depth;
    uint64_t seed;
};

void ptx_names_init(struct ptx_names *t);
void ptx_names_finish(struct ptx_names *t);

/* Returns NULL when out of memory. The entry's address is valid until the next ptx_names_add. */
struct ptx_name *ptx_names_add(struct ptx_names *t, const char *text, size_t len, uint32_t kind,
                               void *item);
struct ptx_name *ptx_names_find(const struct ptx_names *t, const char *text, size_t len);

void ptx_names_open(struct ptx_names *t);
void ptx_names_close(struct ptx_names *t);

#endif
