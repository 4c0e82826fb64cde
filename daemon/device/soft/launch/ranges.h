/* SPDX-License-Identifier: Apache-2.0
 *
 * The address ranges that a client may touch: an immutable, sorted, merged snapshot, shared by the
 * launches that started while it was current. Every access of a kernel is checked against it.
 */
#ifndef DAEMON_DEVICE_SOFT_LAUNCH_RANGES_H
#define DAEMON_DEVICE_SOFT_LAUNCH_RANGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct range {
    uint64_t lo, hi; /* [lo, hi) */
};

struct ranges {
    _Atomic uint32_t refs;
    uint32_t count;
    struct range items[];
};

/* Return a new snapshot with one reference, the caller's, or NULL when out of memory. `old` keeps
 * its reference; NULL means empty. Adding merges neighbours; removing splits. */
struct ranges *ranges_with(const struct ranges *old, uint64_t lo, uint64_t hi);
struct ranges *ranges_without(const struct ranges *old, uint64_t lo, uint64_t hi);
struct ranges *ranges_ref(struct ranges *r);
void ranges_unref(struct ranges *r);

/* Returns the range that contains all of [addr, addr + bytes), or NULL. */
const struct range *ranges_find(const struct ranges *r, uint64_t addr, uint64_t bytes);

#endif
