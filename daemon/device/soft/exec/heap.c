/* SPDX-License-Identifier: Apache-2.0
 *
 * Size classes, four to a doubling; memory is cut off the front of the heap and keeps its class
 * for ever. A map finds the piece at an address, which says its class and whether it is in use, so
 * that free() believes nothing that a kernel says. When the front reaches the end, larger free
 * pieces serve.
 */
#include "daemon/device/soft/exec/heap.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/slotmap.h"

#define HEAP_CLASSES 160
#define HEAP_LEAST 16
#define HEAP_PIECES_MAX (1u << 30)
#define HEAP_NONE UINT32_MAX

struct heap_piece {
    uint64_t addr;
    uint32_t next; /* free piece of its class */
    uint8_t class;
    bool used;
};

struct heap {
    pthread_mutex_t lock;
    uint64_t lo, hi, top;
    uint32_t free[HEAP_CLASSES]; /* pieces; HEAP_NONE: none */
    struct heap_piece *pieces;
    uint32_t count, cap;
    uint32_t used; /* pieces */
    struct slotmap by_addr;
};

static void set_room(struct heap *h, uint64_t lo, uint64_t hi) {
    h->lo = h->top = (lo + HEAP_LEAST - 1) & ~(uint64_t)(HEAP_LEAST - 1);
    h->hi = hi;
}

struct heap *heap_create(uint64_t lo, uint64_t hi) {
    struct heap *h = calloc(1, sizeof(*h));
    if (!h) return NULL;
    pthread_mutex_init(&h->lock, NULL);
    set_room(h, lo, hi);
    for (uint32_t c = 0; c < HEAP_CLASSES; c++)
        h->free[c] = HEAP_NONE;
    return h;
}

void heap_destroy(struct heap *h) {
    if (!h) return;
    pthread_mutex_destroy(&h->lock);
    free(h->pieces);
    slotmap_finish(&h->by_addr);
    free(h);
}

/* Bytes of a class: 16 20 24 28 32 40 ... rounded up to 16, so that small classes coincide. */
static uint64_t class_bytes(uint32_t c) {
    uint64_t bytes = (uint64_t)(4 + c % 4) * HEAP_LEAST / 4 << c / 4;
    return (bytes + HEAP_LEAST - 1) & ~(uint64_t)(HEAP_LEAST - 1);
}

static uint64_t hash_of(uint64_t addr) {
    return addr * 0x9e3779b97f4a7c15ull;
}

/* The number of the piece that begins at the address, or HEAP_NONE. */
static uint32_t find(const struct heap *h, uint64_t addr) {
    struct slotmap_walk walk = slotmap_walk(&h->by_addr, hash_of(addr));
    for (uint32_t i; (i = slotmap_next(&h->by_addr, &walk)) != SLOTMAP_NONE;)
        if (h->pieces[i].addr == addr) return i;
    return HEAP_NONE;
}

/* Room for one more piece. */
static int grow(struct heap *h) {
    if (h->count == h->cap) {
        uint32_t cap = h->cap ? h->cap * 2 : 128;
        struct heap_piece *pieces = reallocarray(h->pieces, cap, sizeof(*pieces));
        if (!pieces) return -ENOMEM;
        h->pieces = pieces;
        h->cap = cap;
    }
    return slotmap_reserve(&h->by_addr, h->count + 1);
}

static uint64_t reuse(struct heap *h, uint32_t c) {
    if (h->free[c] == HEAP_NONE) return 0;
    struct heap_piece *p = &h->pieces[h->free[c]];
    h->free[c] = p->next;
    p->used = true;
    return p->addr;
}

static uint64_t cut(struct heap *h, uint32_t c) {
    uint64_t bytes = class_bytes(c), addr = h->top;
    if (h->top > h->hi || h->hi - h->top < bytes) return 0;
    if (h->count == HEAP_PIECES_MAX || grow(h)) return 0;
    h->pieces[h->count] = (struct heap_piece){.addr = addr, .class = (uint8_t)c, .used = true};
    slotmap_add(&h->by_addr, hash_of(addr), h->count++);
    h->top += bytes;
    return addr;
}

uint64_t heap_alloc(struct heap *h, uint64_t bytes) {
    uint32_t c = 0;
    if (!bytes) return 0;
    while (c < HEAP_CLASSES && class_bytes(c) < bytes)
        c++;
    if (c == HEAP_CLASSES) return 0;
    pthread_mutex_lock(&h->lock);
    uint64_t addr = reuse(h, c);
    if (!addr) addr = cut(h, c);
    for (uint32_t larger = c + 1; !addr && larger < HEAP_CLASSES; larger++)
        addr = reuse(h, larger);
    h->used += addr != 0;
    pthread_mutex_unlock(&h->lock);
    return addr;
}

bool heap_touched(struct heap *h) {
    pthread_mutex_lock(&h->lock);
    bool touched = h->count != 0;
    pthread_mutex_unlock(&h->lock);
    return touched;
}

void heap_extend(struct heap *h, uint64_t lo, uint64_t hi) {
    pthread_mutex_lock(&h->lock);
    set_room(h, lo, hi);
    pthread_mutex_unlock(&h->lock);
}

bool heap_unused(struct heap *h) {
    pthread_mutex_lock(&h->lock);
    bool unused = h->used == 0;
    pthread_mutex_unlock(&h->lock);
    return unused;
}

int heap_free(struct heap *h, uint64_t addr) {
    if (!addr) return 0;
    pthread_mutex_lock(&h->lock);
    uint32_t i = find(h, addr);
    int err = i != HEAP_NONE && h->pieces[i].used ? 0 : -EINVAL;
    if (!err) {
        struct heap_piece *p = &h->pieces[i];
        p->used = false;
        h->used--;
        p->next = h->free[p->class];
        h->free[p->class] = i;
    }
    pthread_mutex_unlock(&h->lock);
    return err;
}
