/* SPDX-License-Identifier: Apache-2.0
 *
 * Size classes, four to a doubling; memory is cut off the front of the heap and keeps its class
 * for ever. A table maps each piece to its class and says whether it is in use, so that free()
 * believes nothing that a kernel says. When the front reaches the end, larger free pieces serve.
 */
#include "daemon/device/soft/exec/heap.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#define HEAP_CLASSES 160
#define HEAP_LEAST 16

struct heap_piece {
    uint64_t addr; /* 0: free place in the table */
    uint64_t next; /* address of the next free piece of its class */
    uint8_t class;
    bool used;
};

struct heap {
    pthread_mutex_t lock;
    uint64_t lo, hi, top;
    uint64_t free[HEAP_CLASSES]; /* addresses; 0: none */
    struct heap_piece *table;    /* open addressing */
    uint64_t count, size;
};

struct heap *heap_create(uint64_t lo, uint64_t hi) {
    struct heap *h = calloc(1, sizeof *h);
    if (!h) return NULL;
    pthread_mutex_init(&h->lock, NULL);
    h->lo = h->top = (lo + HEAP_LEAST - 1) & ~(uint64_t)(HEAP_LEAST - 1);
    h->hi = hi;
    return h;
}

void heap_destroy(struct heap *h) {
    if (!h) return;
    pthread_mutex_destroy(&h->lock);
    free(h->table);
    free(h);
}

/* Bytes of a class: 16 20 24 28 32 40 ... rounded up to 16, so that small classes coincide. */
static uint64_t heap_class_bytes(uint32_t c) {
    uint64_t bytes = (uint64_t)(4 + c % 4) * HEAP_LEAST / 4 << c / 4;
    return (bytes + HEAP_LEAST - 1) & ~(uint64_t)(HEAP_LEAST - 1);
}

static struct heap_piece *heap_find(struct heap_piece *table, uint64_t size, uint64_t addr) {
    uint64_t at = (addr * 0x9e3779b97f4a7c15ull >> 20) & (size - 1);
    while (table[at].addr && table[at].addr != addr)
        at = (at + 1) & (size - 1);
    return &table[at];
}

static int heap_grow_table(struct heap *h) {
    uint64_t size = h->size ? h->size * 2 : 256;
    struct heap_piece *table = calloc(size, sizeof *table);
    if (!table) return -ENOMEM;
    for (uint64_t i = 0; i < h->size; i++)
        if (h->table[i].addr) *heap_find(table, size, h->table[i].addr) = h->table[i];
    free(h->table);
    h->table = table;
    h->size = size;
    return 0;
}

static uint64_t heap_reuse(struct heap *h, uint32_t c) {
    uint64_t addr = h->free[c];
    if (!addr) return 0;
    struct heap_piece *p = heap_find(h->table, h->size, addr);
    h->free[c] = p->next;
    p->used = true;
    return addr;
}

static uint64_t heap_cut(struct heap *h, uint32_t c) {
    uint64_t bytes = heap_class_bytes(c);
    if (h->top > h->hi || h->hi - h->top < bytes) return 0;
    if (h->count * 2 >= h->size && heap_grow_table(h)) return 0;
    uint64_t addr = h->top;
    *heap_find(h->table, h->size, addr) =
        (struct heap_piece){.addr = addr, .class = (uint8_t)c, .used = true};
    h->top += bytes;
    h->count++;
    return addr;
}

uint64_t heap_alloc(struct heap *h, uint64_t bytes) {
    uint32_t c = 0;
    if (!bytes || bytes > h->hi - h->lo) return 0;
    while (c < HEAP_CLASSES && heap_class_bytes(c) < bytes)
        c++;
    if (c == HEAP_CLASSES) return 0;
    pthread_mutex_lock(&h->lock);
    uint64_t addr = heap_reuse(h, c);
    if (!addr) addr = heap_cut(h, c);
    for (uint32_t larger = c + 1; !addr && larger < HEAP_CLASSES; larger++)
        addr = heap_reuse(h, larger);
    pthread_mutex_unlock(&h->lock);
    return addr;
}

int heap_free(struct heap *h, uint64_t addr) {
    if (!addr) return 0;
    pthread_mutex_lock(&h->lock);
    struct heap_piece *p = h->size ? heap_find(h->table, h->size, addr) : NULL;
    int err = p && p->addr && p->used ? 0 : -EINVAL;
    if (!err) {
        p->used = false;
        p->next = h->free[p->class];
        h->free[p->class] = addr;
    }
    pthread_mutex_unlock(&h->lock);
    return err;
}
