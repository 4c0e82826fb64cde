/* SPDX-License-Identifier: Apache-2.0
 *
 * Job id -> slot, and group -> slot: common/slotmap with a hash that is one to one, so that no ids
 * are kept and none is compared. Any id is valid. The caller serialises.
 */
#ifndef DAEMON_SCHED_JOBMAP_H
#define DAEMON_SCHED_JOBMAP_H

#include "common/slotmap.h"

#define JOBMAP_NONE SLOTMAP_NONE

/* Both steps can be undone: different ids have different hashes, all below 2^32. The second brings
 * to the low bits, which a small map goes by, what the high ones differ in. */
static inline uint32_t jobmap_hash(uint32_t id) {
    uint32_t hash = id * 2654435769u;
    return hash ^ hash >> 15;
}

static inline uint32_t jobmap_find(const struct slotmap *map, uint32_t id) {
    struct slotmap_walk walk = slotmap_walk(map, jobmap_hash(id));
    return slotmap_next(map, &walk);
}

/* The id must be absent and room reserved. */
static inline void jobmap_add(struct slotmap *map, uint32_t id, uint32_t slot) {
    slotmap_add(map, jobmap_hash(id), slot);
}

/* The id must be there, with this slot. */
static inline void jobmap_remove(struct slotmap *map, uint32_t id, uint32_t slot) {
    slotmap_remove(map, jobmap_hash(id), slot);
}

#endif
