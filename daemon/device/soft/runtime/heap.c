/* SPDX-License-Identifier: Apache-2.0
 *
 * An allocator with size classes, four per doubling. Memory is cut off the front of the heap and
 * keeps its class. A map finds the piece at an address, which has its class and whether it is in
 * use; so free() trusts nothing that a kernel passes. When the front reaches the end, larger free
 * pieces serve. When there are none, all free pieces become gaps, and memory is cut off those as
 * well.
 */
#include "daemon/device/soft/runtime/heap.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/slotmap.h"

#define HEAP_CLASSES 160
#define HEAP_LEAST 16
#define HEAP_PIECES_MAX (1u << 30)
#define HEAP_NONE UINT32_MAX
/* Number of classes from one size to twice the size. Pieces of less than twice the size serve
 * before free pieces are gathered, and larger ones only after that. */
#define HEAP_NEAR 4u
#define HEAP_PARTS 64u  /* pieces are gathered once 1/HEAP_PARTS of the heap was freed */
#define HEAP_FEW 65536u /* gathering up to this many pieces takes no noticeable time */

struct heap_piece {
    uint64_t addr;
    uint32_t next; /* next free piece of its class */
    uint8_t class;
    bool used;
};

struct heap_gap {
    uint64_t lo, hi;
};

struct heap {
    pthread_mutex_t lock;
    uint64_t lo, hi, top;
    struct heap_gap *gaps;
    uint32_t gap_count;
    uint64_t freed_bytes;        /* bytes freed since the gaps were made */
    bool touched;                /* memory was allocated at least once */
    uint32_t free[HEAP_CLASSES]; /* first free piece of each class; HEAP_NONE: none */
    struct heap_piece *pieces;
    uint32_t count, cap;
    uint32_t used; /* pieces in use */
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
    free(h->gaps);
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

/* Returns the index of the piece that begins at the address, or HEAP_NONE. */
static uint32_t find(const struct heap *h, uint64_t addr) {
    struct slotmap_walk walk = slotmap_walk(&h->by_addr, hash_of(addr));
    for (uint32_t i; (i = slotmap_next(&h->by_addr, &walk)) != SLOTMAP_NONE;)
        if (h->pieces[i].addr == addr) return i;
    return HEAP_NONE;
}

/* Makes space for one more piece. */
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

/* Returns the front from which memory of this size can be cut off, or NULL if there is none. */
static uint64_t *front_of(struct heap *h, uint64_t bytes) {
    if (h->top <= h->hi && h->hi - h->top >= bytes) return &h->top;
    for (uint32_t i = 0; i < h->gap_count; i++)
        if (h->gaps[i].hi - h->gaps[i].lo >= bytes) return &h->gaps[i].lo;
    return NULL;
}

static uint64_t cut(struct heap *h, uint32_t c) {
    uint64_t bytes = class_bytes(c), *front = front_of(h, bytes), addr = front ? *front : 0;
    if (!front || h->count == HEAP_PIECES_MAX || grow(h)) return 0;
    h->pieces[h->count] = (struct heap_piece){.addr = addr, .class = (uint8_t)c, .used = true};
    slotmap_add(&h->by_addr, hash_of(addr), h->count++);
    *front += bytes;
    return addr;
}

/* ---- gathering free pieces ------------------------------------------------------------------- */

static int by_address(const void *a, const void *b) {
    const struct heap_piece *x = a, *y = b;
    return (x->addr > y->addr) - (x->addr < y->addr);
}

/* Makes gaps of the memory between the used pieces, in ascending order. Removes all other
 * pieces. */
static void split(struct heap *h) {
    uint64_t at = h->lo;
    uint32_t kept = 0;
    h->gap_count = 0;
    for (uint32_t i = 0; i < h->count; i++) {
        const struct heap_piece p = h->pieces[i];
        if (!p.used) continue;
        if (p.addr > at) h->gaps[h->gap_count++] = (struct heap_gap){at, p.addr};
        at = p.addr + class_bytes(p.class);
        h->pieces[kept++] = p;
    }
    h->top = at;
    h->count = kept;
    for (uint32_t c = 0; c < HEAP_CLASSES; c++)
        h->free[c] = HEAP_NONE;
}

/* True if gathering is worth its time: much memory was freed, or there are few pieces. */
static bool is_worth(const struct heap *h) {
    bool much = h->freed_bytes >= (h->hi - h->lo) / HEAP_PARTS;
    return h->freed_bytes && (much || h->count < HEAP_FEW);
}

/* Turns all free pieces into gaps. Returns false if there is no memory for the lists. */
static bool gather(struct heap *h) {
    struct slotmap again = {0};
    struct heap_gap *gaps = reallocarray(h->gaps, h->used + 1u, sizeof(*gaps));
    if (gaps) h->gaps = gaps;
    if (!gaps || slotmap_reserve(&again, h->used + 1)) return false;
    qsort(h->pieces, h->count, sizeof(*h->pieces), by_address);
    split(h);
    slotmap_finish(&h->by_addr);
    h->by_addr = again;
    for (uint32_t i = 0; i < h->count; i++)
        slotmap_add(&h->by_addr, hash_of(h->pieces[i].addr), i);
    h->freed_bytes = 0;
    return true;
}

/* ---- for kernels ----------------------------------------------------------------------------- */

uint64_t heap_alloc(struct heap *h, uint64_t bytes) {
    uint32_t c = 0;
    if (!bytes) return 0;
    while (c < HEAP_CLASSES && class_bytes(c) < bytes)
        c++;
    if (c == HEAP_CLASSES) return 0;
    pthread_mutex_lock(&h->lock);
    uint64_t addr = reuse(h, c);
    if (!addr) addr = cut(h, c);
    for (uint32_t near = c + 1; !addr && near < c + HEAP_NEAR && near < HEAP_CLASSES; near++)
        addr = reuse(h, near);
    if (!addr && is_worth(h) && gather(h)) addr = cut(h, c);
    for (uint32_t larger = c + HEAP_NEAR; !addr && larger < HEAP_CLASSES; larger++)
        addr = reuse(h, larger);
    h->used += addr != 0;
    h->touched |= addr != 0;
    pthread_mutex_unlock(&h->lock);
    return addr;
}

bool heap_touched(struct heap *h) {
    pthread_mutex_lock(&h->lock);
    bool touched = h->touched;
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
        h->freed_bytes += class_bytes(p->class);
        h->used--;
        p->next = h->free[p->class];
        h->free[p->class] = i;
    }
    pthread_mutex_unlock(&h->lock);
    return err;
}
