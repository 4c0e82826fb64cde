/* SPDX-License-Identifier: Apache-2.0
 *
 * Maps hashes to slots of the caller's table. Open addressing with linear probing, at most half
 * full; entries move back on removal, so that nothing degrades over time. The map holds no keys:
 * several slots may have one hash, and the caller compares. Keys that a stranger chooses need a
 * hash with a secret. The caller serialises calls.
 */
#ifndef COMMON_SLOTMAP_H
#define COMMON_SLOTMAP_H

#include <stdint.h>

#define SLOTMAP_NONE UINT32_MAX

struct slotmap_entry {
    uint32_t tag, slot; /* slot SLOTMAP_NONE: empty */
};

struct slotmap {
    struct slotmap_entry *entries;
    uint32_t mask, count;
};

/* State of a search. */
struct slotmap_walk {
    uint32_t tag, at;
};

/* Makes space for `count` slots in total. Returns 0, or -ENOMEM with the map unchanged. A zeroed
 * struct is an empty map. */
int slotmap_reserve(struct slotmap *map, uint32_t count);
void slotmap_finish(struct slotmap *map);

/* The part of a hash that is stored: all of a hash below 2^32. */
static inline uint32_t slotmap_tag(uint64_t hash) {
    return (uint32_t)(hash ^ hash >> 32);
}

/* slotmap_next returns the slots whose hash may be this one, one per call, then SLOTMAP_NONE.
 * Adding and removing ends the search. */
static inline struct slotmap_walk slotmap_walk(const struct slotmap *map, uint64_t hash) {
    return (struct slotmap_walk){slotmap_tag(hash), slotmap_tag(hash) & map->mask};
}

static inline uint32_t slotmap_next(const struct slotmap *map, struct slotmap_walk *walk) {
    const struct slotmap_entry *entries = map->entries;
    uint32_t at = walk->at;
    if (!entries) return SLOTMAP_NONE;
    while (entries[at].tag != walk->tag && entries[at].slot != SLOTMAP_NONE)
        at = (at + 1) & map->mask;
    walk->at = (at + 1) & map->mask;
    return entries[at].slot;
}

/* Number of entries, used or not. */
static inline uint32_t slotmap_size(const struct slotmap *map) {
    return map->mask ? map->mask + 1 : 0;
}

/* The caller must have reserved space. */
void slotmap_add(struct slotmap *map, uint64_t hash, uint32_t slot);
/* The slot must be in the map. */
void slotmap_remove(struct slotmap *map, uint64_t hash, uint32_t slot);

/* Returns a hash of `count` words. Collisions cannot be constructed without the seed. */
uint64_t slotmap_hash(const uint64_t *words, uint32_t count, uint64_t seed);

/* The same for one word, on the path of every launch: one product with a secret, with its halves
 * folded. */
static inline uint64_t slotmap_hash_word(uint64_t word, uint64_t seed) {
    unsigned __int128 product =
        (unsigned __int128)(word ^ seed) * (seed * 0xd1342543de82ef95ull | 1);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

#endif
