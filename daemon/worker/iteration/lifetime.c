/* SPDX-License-Identifier: Apache-2.0
 *
 * Live blocks: an array, a map by address, and a list for each state. A mark moves whole lists, so
 * that the cost of a boundary depends on the survivors, not on all live blocks.
 */
#include "daemon/worker/iteration/lifetime.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>

#include "common/err.h"

/* Live blocks, plus as many survivors that were freed since the mark. */
#define LIFETIME_MOST (2 * LIFETIME_BLOCKS)

struct lifetime_block {
    struct list link;
    uint64_t addr, bytes;
    uint64_t fill;      /* lifetime.fills at its allocation */
    uint32_t born;      /* epoch of its allocation */
    uint32_t copied_at; /* epoch in which a copy filled it; 0: none did */
    bool kept, outlived;
    bool dead; /* freed since the mark: a survivor that is no longer found by address */
};

static __attribute__((cold, format(printf, 3, 4))) int refuse(char *why, size_t why_bytes,
                                                              const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(why, why_bytes, fmt, args);
    va_end(args);
    return ERR_PROTOCOL;
}

/* Appends all of `from`, in order. */
static void splice(struct list *to, struct list *from) {
    if (list_empty(from)) return;
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    list_init(from);
}

void lifetime_init(struct lifetime *l, uint64_t base, uint64_t bytes, uint64_t seed) {
    *l = (struct lifetime){.base = base, .bytes = bytes, .seed = seed, .epoch = 1};
    list_init(&l->fresh);
    list_init(&l->filled);
    list_init(&l->survivors);
    list_init(&l->kept);
    list_init(&l->free);
}

void lifetime_finish(struct lifetime *l) {
    if (!l->epoch) return; /* never initialised */
    if (l->blocks) munmap(l->blocks, LIFETIME_MOST * sizeof(*l->blocks));
    slotmap_finish(&l->by_addr);
    l->blocks = NULL;
    l->epoch = 0;
}

/* ---- the blocks ------------------------------------------------------------------------------ */

static uint64_t hash_of(const struct lifetime *l, uint64_t addr) {
    return slotmap_hash_word(addr, l->seed);
}

static struct lifetime_block *find(const struct lifetime *l, uint64_t addr, uint64_t hash) {
    struct slotmap_walk walk = slotmap_walk(&l->by_addr, hash);
    uint32_t slot;
    while ((slot = slotmap_next(&l->by_addr, &walk)) != SLOTMAP_NONE)
        if (l->blocks[slot].addr == addr) return &l->blocks[slot];
    return NULL;
}

/* A mapping: blocks never move, because lists link them, and unused ones cost no memory. */
static bool map_blocks(struct lifetime *l) {
    void *got = mmap(NULL, LIFETIME_MOST * sizeof(*l->blocks), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED) return false;
    l->blocks = got;
    return true;
}

/* A new block to be found by address; NULL: there are too many, or memory is short. */
static struct lifetime_block *take(struct lifetime *l) {
    struct list *latest = l->free.prev;
    if (l->by_addr.count >= LIFETIME_BLOCKS || (!l->blocks && !map_blocks(l)) ||
        slotmap_reserve(&l->by_addr, l->by_addr.count + 1) < 0)
        return NULL;
    if (list_empty(&l->free)) return l->used < LIFETIME_MOST ? &l->blocks[l->used++] : NULL;
    list_remove(latest);
    return list_entry(latest, struct lifetime_block, link);
}

static uint32_t slot_of(const struct lifetime *l, const struct lifetime_block *b) {
    return (uint32_t)(b - l->blocks);
}

/* Frees the block's entry. */
static void give(struct lifetime *l, struct lifetime_block *b) {
    list_remove(&b->link);
    list_append(&l->free, &b->link);
}

/* ---- use and drop ---------------------------------------------------------------------------- */

int lifetime_use(struct lifetime *l, uint64_t addr, uint64_t bytes, char *why, size_t why_bytes) {
    uint64_t hash = hash_of(l, addr);
    if (addr < l->base || bytes > l->bytes || addr - l->base > l->bytes - bytes)
        return refuse(why, why_bytes,
                      "block 0x%" PRIx64 "+0x%" PRIx64 " is not in the ephemeral window", addr,
                      bytes);
    if (bytes > l->bytes - l->live_bytes)
        return refuse(why, why_bytes, "more blocks alive than the ephemeral window holds");
    if (find(l, addr, hash))
        return refuse(why, why_bytes, "block 0x%" PRIx64 " is allocated twice", addr);
    l->live_bytes += bytes;
    struct lifetime_block *b = take(l);
    if (!b) {
        l->untracked++;
        return 0;
    }
    *b = (struct lifetime_block){.addr = addr, .bytes = bytes, .fill = l->fills, .born = l->epoch};
    slotmap_add(&l->by_addr, hash, slot_of(l, b));
    list_append(&l->fresh, &b->link);
    return 0;
}

/* True for blocks that lifetime_settle will handle. */
static bool survives(const struct lifetime *l, const struct lifetime_block *b) {
    bool launched = b->fill != l->mark_fills, copied = b->copied_at && b->copied_at != l->epoch;
    return l->marked && !b->kept && b->born != l->epoch && (launched || copied);
}

int lifetime_drop(struct lifetime *l, uint64_t addr, uint64_t bytes, char *why, size_t why_bytes) {
    uint64_t hash = hash_of(l, addr);
    struct lifetime_block *b = find(l, addr, hash);
    if (!b && l->untracked) {
        l->untracked--;
        l->live_bytes -= bytes < l->live_bytes ? bytes : l->live_bytes;
        return 0;
    }
    if (!b) return refuse(why, why_bytes, "block 0x%" PRIx64 " is freed, but not alive", addr);
    if (b->bytes != bytes)
        return refuse(why, why_bytes,
                      "block 0x%" PRIx64 " has %" PRIu64 " bytes, and the client frees %" PRIu64,
                      addr, b->bytes, bytes);
    l->live_bytes -= bytes < l->live_bytes ? bytes : l->live_bytes;
    slotmap_remove(&l->by_addr, hash, slot_of(l, b));
    b->dead = true;
    if (!survives(l, b)) give(l, b);
    return 0;
}

static void note_copied(struct lifetime *l, struct lifetime_block *b) {
    b->copied_at = l->epoch;
    list_remove(&b->link);
    list_append(&l->filled, &b->link);
}

/* A copy mostly begins at the start of a block; otherwise the newest blocks are the likeliest. */
void lifetime_written(struct lifetime *l, uint64_t addr, uint64_t bytes) {
    if (list_empty(&l->fresh) || addr >= l->base + l->bytes || addr + bytes <= l->base) return;
    struct lifetime_block *b = find(l, addr, hash_of(l, addr));
    if (b && bytes <= b->bytes) {
        if (b->fill == l->fills && !b->copied_at) note_copied(l, b);
        return;
    }
    for (struct list *pos = l->fresh.prev, *before; pos != &l->fresh; pos = before) {
        b = list_entry(pos, struct lifetime_block, link);
        before = pos->prev;
        if (addr < b->addr + b->bytes && addr + bytes > b->addr) note_copied(l, b);
    }
}

void lifetime_fill(struct lifetime *l) {
    l->fills++;
    l->filled_uses = l->uses;
    splice(&l->filled, &l->fresh);
}

/* ---- boundaries ------------------------------------------------------------------------------ */

void lifetime_mark(struct lifetime *l) {
    l->epoch++;
    l->mark_fills = l->fills;
    l->marked = true;
    l->crowded = l->untracked != 0;
    splice(&l->survivors, &l->filled);
}

bool lifetime_survivors(const struct lifetime *l,
                        bool (*see)(void *arg, uint64_t addr, uint64_t bytes), void *arg) {
    const struct list *pos;
    if (l->crowded && !see(arg, l->base, l->bytes)) return false;
    list_each(pos, &l->survivors) {
        const struct lifetime_block *b = list_entry(pos, struct lifetime_block, link);
        if (!see(arg, b->addr, b->bytes)) return false;
    }
    return true;
}

uint64_t lifetime_settle(struct lifetime *l, bool (*keep)(void *arg, uint64_t addr, uint64_t bytes),
                         void *arg) {
    struct list *pos, *tmp;
    uint64_t first = 0;
    l->marked = false;
    if (l->crowded) keep(arg, l->base, l->bytes);
    list_each_safe(pos, tmp, &l->survivors) {
        struct lifetime_block *b = list_entry(pos, struct lifetime_block, link);
        b->kept = keep(arg, b->addr, b->bytes);
        first += !b->outlived;
        b->outlived = true;
        list_remove(&b->link);
        list_append(b->dead ? &l->free : b->kept ? &l->kept : &l->filled, &b->link);
    }
    return first;
}
