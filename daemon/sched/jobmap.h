/* SPDX-License-Identifier: Apache-2.0
 *
 * Maps a job id to its slot, and a group to its slot. Uses common/slotmap with an injective hash,
 * so that no ids are stored and none are compared. Any id is valid. The caller serialises.
 */
#ifndef DAEMON_SCHED_JOBMAP_H
#define DAEMON_SCHED_JOBMAP_H

#include "common/slotmap.h"

#define JOBMAP_NONE SLOTMAP_NONE

/* Both steps are invertible: different ids have different hashes, all below 2^32. The second step
 * mixes the high bits into the low ones, which are all that a small map uses. */
static inline uint32_t jobmap_hash(uint32_t id) {
    uint32_t hash = id * 2654435769u;
    return hash ^ hash >> 15;
}

static inline uint32_t jobmap_find(const struct slotmap *map, uint32_t id) {
    struct slotmap_walk walk = slotmap_walk(map, jobmap_hash(id));
    return slotmap_next(map, &walk);
}

/* Adds an absent id. The caller has reserved space for it. */
static inline void jobmap_add(struct slotmap *map, uint32_t id, uint32_t slot) {
    slotmap_add(map, jobmap_hash(id), slot);
}

/* Removes an id that is present with this slot. */
static inline void jobmap_remove(struct slotmap *map, uint32_t id, uint32_t slot) {
    slotmap_remove(map, jobmap_hash(id), slot);
}

#endif
