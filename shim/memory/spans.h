/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranges of addresses that do not overlap, in ascending order. Pure. Not thread-safe: the caller
 * locks.
 */
#ifndef SHIM_MEMORY_SPANS_H
#define SHIM_MEMORY_SPANS_H

#include <stdbool.h>
#include <stdint.h>

struct span {
    uint64_t addr, bytes;
    uint32_t tag, access; /* the caller's */
    uint64_t id;          /* the caller's */
};

struct spans {
    struct span *items;
    uint32_t count, cap;
};

void spans_finish(struct spans *s);

/* 0, -EEXIST when it overlaps one, -ENOMEM. */
int spans_add(struct spans *s, const struct span *span);

/* The one that contains `addr`; NULL. Until the next change. */
struct span *spans_find(const struct spans *s, uint64_t addr);
bool spans_overlap(const struct spans *s, uint64_t addr, uint64_t bytes);
/* How many, from *first on, have an address in [addr, addr + bytes). */
uint32_t spans_overlapping(const struct spans *s, uint64_t addr, uint64_t bytes, uint32_t *first);

/* How many of them, from *first on, together are exactly [addr, addr + bytes); 0: none are. */
uint32_t spans_exactly(const struct spans *s, uint64_t addr, uint64_t bytes, uint32_t *first);
/* Whether they leave nothing out of [addr, addr + bytes), without those whose access is 0. */
bool spans_cover(const struct spans *s, uint64_t addr, uint64_t bytes);

void spans_remove(struct spans *s, uint32_t first, uint32_t count);

#endif
