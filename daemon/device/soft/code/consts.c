/* SPDX-License-Identifier: Apache-2.0
 *
 * Open addressing with linear probing; the table doubles at half load.
 */
#include "daemon/device/soft/code/consts.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/device/soft/code/code.h"

#define CONSTS_FIRST 64 /* slot 0 would not be negative */

void consts_init(struct consts *c) {
    memset(c, 0, sizeof *c);
    c->len = CONSTS_FIRST;
}

void consts_finish(struct consts *c) {
    free(c->data);
    free(c->table);
    memset(c, 0, sizeof *c);
}

static struct consts_entry *consts_find(struct consts_entry *table, uint32_t size, uint64_t bits,
                                        uint32_t bytes) {
    uint64_t h = (bits ^ (uint64_t)bytes << 60) * 0x9e3779b97f4a7c15ull;
    uint32_t at = (uint32_t)(h >> 40) & (size - 1);
    while (table[at].slot && (table[at].bits != bits || table[at].bytes != bytes))
        at = (at + 1) & (size - 1);
    return &table[at];
}

static int consts_grow_table(struct consts *c) {
    uint32_t size = c->table_size ? c->table_size * 2 : 64;
    struct consts_entry *table = calloc(size, sizeof *table);
    if (!table) return -1;
    for (uint32_t i = 0; i < c->table_size; i++)
        if (c->table[i].slot)
            *consts_find(table, size, c->table[i].bits, c->table[i].bytes) = c->table[i];
    free(c->table);
    c->table = table;
    c->table_size = size;
    return 0;
}

static void consts_broadcast(unsigned char *at, uint64_t bits, uint32_t bytes) {
    if (!bytes) {
        uint32_t mask = bits ? UINT32_MAX : 0;
        memcpy(at, &mask, sizeof mask);
        return;
    }
    for (uint32_t lane = 0; lane < WARP_LANES; lane++)
        memcpy(at + lane * bytes, &bits, bytes); /* little-endian: the low bytes */
}

int32_t consts_slot(struct consts *c, uint64_t bits, uint32_t bytes) {
    if (bytes && bytes < 8) bits &= (1ull << 8 * bytes) - 1;
    if (!bytes) bits = bits != 0;
    if (c->used * 2 >= c->table_size && consts_grow_table(c)) return 0;
    struct consts_entry *e = consts_find(c->table, c->table_size, bits, bytes);
    if (e->slot) return e->slot;
    uint32_t width = bytes * WARP_LANES < 64 ? 64 : bytes * WARP_LANES;
    if (c->len + width > c->room) {
        uint32_t room = c->room ? c->room * 2 : 4096;
        unsigned char *data = realloc(c->data, room);
        if (!data) return 0;
        memset(data + c->room, 0, room - c->room);
        c->data = data;
        c->room = room;
    }
    consts_broadcast(c->data + c->len, bits, bytes);
    *e = (struct consts_entry){bits, bytes, -(int32_t)c->len};
    c->len += width;
    c->used++;
    return e->slot;
}
