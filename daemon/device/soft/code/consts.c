/* SPDX-License-Identifier: Apache-2.0
 *
 * A growing buffer of constants, a list of its entries, and a map from value to entry.
 */
#include "daemon/device/soft/code/consts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/device/soft/code/code.h"

#define CONSTS_FIRST 64 /* slot 0 would not be negative */

void consts_init(struct consts *c) {
    memset(c, 0, sizeof(*c));
    c->len = CONSTS_FIRST;
}

void consts_finish(struct consts *c) {
    free(c->data);
    free(c->entries);
    slotmap_finish(&c->by_value);
    memset(c, 0, sizeof(*c));
}

static uint64_t hash_of(uint64_t bits, uint32_t bytes) {
    const uint64_t words[] = {bits, bytes};
    return slotmap_hash(words, 2, 0);
}

static const struct consts_entry *find(const struct consts *c, uint64_t bits, uint32_t bytes) {
    struct slotmap_walk walk = slotmap_walk(&c->by_value, hash_of(bits, bytes));
    for (uint32_t i; (i = slotmap_next(&c->by_value, &walk)) != SLOTMAP_NONE;)
        if (c->entries[i].bits == bits && c->entries[i].bytes == bytes) return &c->entries[i];
    return NULL;
}

/* Makes space for one more entry and `width` bytes of data. */
static int grow(struct consts *c, uint32_t width) {
    if (c->count == c->cap) {
        uint32_t cap = c->cap ? c->cap * 2 : 32;
        struct consts_entry *entries = realloc(c->entries, cap * sizeof(*entries));
        if (!entries) return -ENOMEM;
        c->entries = entries;
        c->cap = cap;
    }
    if (c->len + width > c->room) {
        uint32_t room = c->room ? c->room * 2 : 4096;
        unsigned char *data = realloc(c->data, room);
        if (!data) return -ENOMEM;
        memset(data + c->room, 0, room - c->room);
        c->data = data;
        c->room = room;
    }
    return slotmap_reserve(&c->by_value, c->count + 1);
}

static void broadcast(unsigned char *at, uint64_t bits, uint32_t bytes) {
    if (!bytes) {
        uint32_t mask = bits ? UINT32_MAX : 0;
        memcpy(at, &mask, sizeof(mask));
        return;
    }
    for (uint32_t lane = 0; lane < WARP_LANES; lane++)
        memcpy(at + lane * bytes, &bits, bytes < 8 ? bytes : 8); /* the low bytes; zeros follow */
}

int32_t consts_slot(struct consts *c, uint64_t bits, uint32_t bytes) {
    if (bytes && bytes < 8) bits &= (1ull << 8 * bytes) - 1;
    if (!bytes) bits = bits != 0;
    const struct consts_entry *known = find(c, bits, bytes);
    if (known) return known->slot;
    uint32_t width = bytes * WARP_LANES < 64 ? 64 : bytes * WARP_LANES;
    if (grow(c, width)) return 0;
    int32_t slot = -(int32_t)c->len;
    broadcast(c->data + c->len, bits, bytes);
    c->len += width;
    slotmap_add(&c->by_value, hash_of(bits, bytes), c->count);
    c->entries[c->count++] = (struct consts_entry){bits, bytes, slot};
    return slot;
}
