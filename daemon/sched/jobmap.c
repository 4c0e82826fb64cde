/* SPDX-License-Identifier: Apache-2.0
 *
 * Job id -> slot.
 */
#include "daemon/sched/jobmap.h"

#include <errno.h>
#include <stdlib.h>

int jobmap_reserve(struct jobmap *map, uint32_t count) {
    uint32_t size = 16;
    if (map->entries && count <= (map->mask + 1) / 2) return 0;
    while (size / 2 < count)
        size *= 2;
    struct jobmap grown = {malloc(size * sizeof(*grown.entries)), size - 1, 0};
    if (!grown.entries) return -ENOMEM;
    for (uint32_t i = 0; i < size; i++)
        grown.entries[i].slot = JOBMAP_NONE;
    for (uint32_t i = 0; map->entries && i <= map->mask; i++)
        if (map->entries[i].slot != JOBMAP_NONE)
            jobmap_add(&grown, map->entries[i].id, map->entries[i].slot);
    free(map->entries);
    *map = grown;
    return 0;
}

void jobmap_finish(struct jobmap *map) {
    free(map->entries);
    map->entries = NULL;
    map->count = 0;
}

void jobmap_add(struct jobmap *map, uint32_t id, uint32_t slot) {
    uint32_t i = jobmap_home(map, id);
    while (map->entries[i].slot != JOBMAP_NONE)
        i = (i + 1) & map->mask;
    map->entries[i] = (struct jobmap_entry){id, slot};
    map->count++;
}

void jobmap_remove(struct jobmap *map, uint32_t id) {
    uint32_t hole = jobmap_home(map, id);
    while (map->entries[hole].id != id || map->entries[hole].slot == JOBMAP_NONE) {
        if (map->entries[hole].slot == JOBMAP_NONE) return;
        hole = (hole + 1) & map->mask;
    }
    map->count--;
    /* An entry may move into the hole unless its home lies between the hole and itself. */
    for (uint32_t i = (hole + 1) & map->mask; map->entries[i].slot != JOBMAP_NONE;
         i = (i + 1) & map->mask) {
        uint32_t home = jobmap_home(map, map->entries[i].id);
        if (((i - home) & map->mask) < ((i - hole) & map->mask)) continue;
        map->entries[hole] = map->entries[i];
        hole = i;
    }
    map->entries[hole].slot = JOBMAP_NONE;
}
