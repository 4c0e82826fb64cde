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
    uint32_t tag, access; /* for the caller's use */
    uint64_t id;          /* for the caller's use */
};

struct spans {
    struct span *items;
    uint32_t count, cap;
};

void spans_finish(struct spans *s);

/* Returns 0, -EEXIST when it overlaps another range, -ENOMEM. */
int spans_add(struct spans *s, const struct span *span);

/* Returns the range that contains `addr`, or NULL. Valid until the next change. */
struct span *spans_find(const struct spans *s, uint64_t addr);
bool spans_overlap(const struct spans *s, uint64_t addr, uint64_t bytes);
/* Returns how many ranges, from *first on, overlap [addr, addr + bytes). */
uint32_t spans_overlapping(const struct spans *s, uint64_t addr, uint64_t bytes, uint32_t *first);

/* Returns how many ranges, from *first on, together are exactly [addr, addr + bytes); 0: none. */
uint32_t spans_exactly(const struct spans *s, uint64_t addr, uint64_t bytes, uint32_t *first);
/* True when the ranges leave no gap in [addr, addr + bytes). Ranges whose access is 0 do not count.
 */
bool spans_cover(const struct spans *s, uint64_t addr, uint64_t bytes);

void spans_remove(struct spans *s, uint32_t first, uint32_t count);

#endif
