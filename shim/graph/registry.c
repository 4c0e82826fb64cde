/* SPDX-License-Identifier: Apache-2.0
 *
 * One table for all kinds of handles.
 */
#include "shim/graph/registry.h"

#include <stdlib.h>

#define REGISTRY_MAX (1u << HANDLE_INDEX_BITS)
#define REGISTRY_FIRST 256u

struct entry {
    void *object; /* NULL: free; `next` is then the next free entry */
    void *handle;
    uint32_t next;
    uint16_t generation;
};

pthread_mutex_t graph_lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
    struct entry *entries;
    uint32_t used, cap;
    uint32_t free; /* 1 + the latest free entry; 0: none */
} table;

static int grow_table(void) {
    uint32_t cap = table.cap ? 2 * table.cap : REGISTRY_FIRST;
    struct entry *more = cap <= REGISTRY_MAX ? realloc(table.entries, cap * sizeof(*more)) : NULL;
    if (!more) return 0;
    table.entries = more;
    table.cap = cap;
    return 1;
}

static struct entry *take_entry(void) {
    if (table.free) {
        struct entry *e = &table.entries[table.free - 1];
        table.free = e->next;
        return e;
    }
    if (table.used == table.cap && !grow_table()) return NULL;
    struct entry *e = &table.entries[table.used++];
    *e = (struct entry){0};
    return e;
}

void *registry_add(enum handle_kind kind, void *object) {
    struct entry *e = take_entry();
    if (!e) return NULL;
    uint32_t index = (uint32_t)(e - table.entries);
    e->object = object;
    e->handle = (void *)(uintptr_t)handle_make(kind, ++e->generation, index);
    return e->handle;
}

static struct entry *find(enum handle_kind kind, const void *handle) {
    uint32_t index = handle_index(kind, handle);
    if (index >= table.used || table.entries[index].handle != handle) return NULL;
    return &table.entries[index];
}

void *registry_find(enum handle_kind kind, const void *handle) {
    const struct entry *e = find(kind, handle);
    return e ? e->object : NULL;
}

void registry_remove(enum handle_kind kind, const void *handle) {
    struct entry *e = find(kind, handle);
    if (!e) return;
    e->object = e->handle = NULL;
    e->next = table.free;
    table.free = (uint32_t)(e - table.entries) + 1;
}
