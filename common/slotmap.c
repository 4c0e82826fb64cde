/* SPDX-License-Identifier: Apache-2.0
 *
 * A hash map from hashes to slots.
 */
#include "common/slotmap.h"

#include <errno.h>
#include <stdlib.h>

int slotmap_reserve(struct slotmap *map, uint32_t count) {
    uint32_t size = 16;

    if (map->entries && count <= (map->mask + 1) / 2) return 0;
    while (size / 2 < count)
        size *= 2;
    struct slotmap grown = {malloc(size * sizeof(*grown.entries)), size - 1, map->count};
    if (!grown.entries) return -ENOMEM;
    for (uint32_t i = 0; i < size; i++)
        grown.entries[i] = (struct slotmap_entry){.slot = SLOTMAP_NONE};
    for (uint32_t i = 0; map->entries && i <= map->mask; i++) {
        uint32_t at = map->entries[i].tag & grown.mask;

        if (map->entries[i].slot == SLOTMAP_NONE) continue;
        while (grown.entries[at].slot != SLOTMAP_NONE)
            at = (at + 1) & grown.mask;
        grown.entries[at] = map->entries[i];
    }
    free(map->entries);
    *map = grown;
    return 0;
}

void slotmap_finish(struct slotmap *map) {
    free(map->entries);
    *map = (struct slotmap){0};
}

void slotmap_add(struct slotmap *map, uint64_t hash, uint32_t slot) {
    uint32_t at = slotmap_tag(hash) & map->mask;

    while (map->entries[at].slot != SLOTMAP_NONE)
        at = (at + 1) & map->mask;
    map->entries[at] = (struct slotmap_entry){slotmap_tag(hash), slot};
    map->count++;
}

void slotmap_remove(struct slotmap *map, uint64_t hash, uint32_t slot) {
    uint32_t hole = slotmap_tag(hash) & map->mask;

    while (map->entries[hole].slot != slot) {
        if (map->entries[hole].slot == SLOTMAP_NONE) return;
        hole = (hole + 1) & map->mask;
    }
    map->count--;
    /* An entry may move into the hole unless its home lies between the hole and itself. */
    for (uint32_t i = (hole + 1) & map->mask; map->entries[i].slot != SLOTMAP_NONE;
         i = (i + 1) & map->mask) {
        uint32_t home = map->entries[i].tag & map->mask;

        if (((i - home) & map->mask) < ((i - hole) & map->mask)) continue;
        map->entries[hole] = map->entries[i];
        hole = i;
    }
    map->entries[hole].slot = SLOTMAP_NONE;
}

/* Multiplies 64 by 64 bits and folds the halves of the product, so that every input bit affects
 * every output bit. */
static uint64_t fold(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t slotmap_hash(const uint64_t *words, uint32_t count, uint64_t seed) {
    uint64_t key = fold(seed ^ 0x9e3779b97f4a7c15ull, 0xd6e8feb86659fd93ull) | 1, hash = seed;

    for (uint32_t i = 0; i < count; i++) {
        hash = fold(hash ^ words[i] ^ 0xa0761d6478bd642full, key);
        key = key * 0xd1342543de82ef95ull + 2; /* stays odd */
    }
    return fold(hash ^ count, 0xe7037ed1a0b428dbull);
}
