/* SPDX-License-Identifier: Apache-2.0
 *
 * Job id -> slot: open addressing with linear probing, at most half full, entries moved back on
 * removal so that nothing degrades with churn. Any id is valid. The caller serialises.
 */
#ifndef DAEMON_SCHED_JOBMAP_H
#define DAEMON_SCHED_JOBMAP_H

#include <stdint.h>

#define JOBMAP_NONE UINT32_MAX

struct jobmap_entry {
    uint32_t id, slot; /* slot JOBMAP_NONE: empty */
};

struct jobmap {
    struct jobmap_entry *entries;
    uint32_t mask, count;
};

/* Room for `count` jobs in all: 0 or -ENOMEM with the map unchanged. */
int jobmap_reserve(struct jobmap *map, uint32_t count);
void jobmap_finish(struct jobmap *map);

/* Entries, used or not. */
static inline uint32_t jobmap_size(const struct jobmap *map) {
    return map->mask ? map->mask + 1 : 0;
}

static inline uint32_t jobmap_home(const struct jobmap *map, uint32_t id) {
    return (id * 2654435769u >> 7) & map->mask;
}

static inline uint32_t jobmap_find(const struct jobmap *map, uint32_t id) {
    if (!map->entries) return JOBMAP_NONE;
    for (uint32_t i = jobmap_home(map, id);; i = (i + 1) & map->mask) {
        const struct jobmap_entry *e = &map->entries[i];
        if (e->id == id || e->slot == JOBMAP_NONE) return e->slot;
    }
}

/* The id must be absent and room reserved. */
void jobmap_add(struct jobmap *map, uint32_t id, uint32_t slot);
void jobmap_remove(struct jobmap *map, uint32_t id);

#endif
