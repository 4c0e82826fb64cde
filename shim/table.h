/* SPDX-License-Identifier: Apache-2.0
 *
 * A table of items by number that grows as numbers come into use. Items never move and start as
 * zeros. A lookup is a load or two and takes no lock; the creators of items serialise themselves.
 */
#ifndef SHIM_TABLE_H
#define SHIM_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/atomics.h"
#include "shim/connection/state.h"

#define TABLE_BLOCK 1024u /* items that are allocated together */
#define TABLE_BLOCKS 4096u
#define TABLE_MOST (TABLE_BLOCK * TABLE_BLOCKS)

struct table {
    size_t bytes; /* bytes of an item */
    _Atomic(char *) blocks[TABLE_BLOCKS];
    /* For table_take: numbers from `limit` on were never used; `vacant` is the number given back
     * last, plus 1, or 0. */
    _Atomic uint32_t limit;
    uint32_t vacant;
};

/* Returns NULL when the item was never created. */
static inline void *table_at(const struct table *t, uint32_t number) {
    char *block = number < TABLE_MOST ? atom_load_acquire(&t->blocks[number / TABLE_BLOCK]) : NULL;
    return block ? block + number % TABLE_BLOCK * t->bytes : NULL;
}

/* The first member of items that table_take and table_give manage. */
struct table_item {
    uint32_t number;
    uint32_t next_vacant; /* number of the next unused item, plus 1; 0: none */
};

/* Returns the item, which it creates if needed. NULL: out of memory. */
static inline void *table_reach(struct table *t, uint32_t number) {
    if (number >= TABLE_MOST) return NULL;
    _Atomic(char *) *block = &t->blocks[number / TABLE_BLOCK];
    if (!atom_load_relaxed(block)) atom_store_release(block, calloc(TABLE_BLOCK, t->bytes));
    return table_at(t, number);
}

/* Takes an unused item, the one given back last first. NULL: there are `most` items, or memory is
 * short. */
static inline void *table_take(struct table *t, uint32_t most) {
    if (t->vacant) {
        struct table_item *again = table_at(t, t->vacant - 1);
        t->vacant = again->next_vacant;
        return again;
    }
    uint32_t number = atom_load_relaxed(&t->limit);
    struct table_item *item = number < most ? table_reach(t, number) : NULL;
    if (!item) return NULL;
    item->number = number;
    atom_store_release(&t->limit, number + 1);
    return item;
}

static inline void table_give(struct table *t, void *item) {
    struct table_item *given = item;
    given->next_vacant = t->vacant;
    t->vacant = given->number + 1;
}

/* Returns how many numbers the daemon accepts: `most`, or `before` from daemons before 1.9. */
#define TABLE_GREW 9
static inline uint32_t table_most(uint32_t most, uint32_t before) {
    return state.conn.minor < TABLE_GREW ? before : most;
}

#endif
