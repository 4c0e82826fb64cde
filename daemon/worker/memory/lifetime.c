/* SPDX-License-Identifier: Apache-2.0
 *
 * Live blocks: a table by address, and a list for each state. Marking moves whole lists, so that a
 * boundary costs the survivors, not everything that is alive.
 */
#include "daemon/worker/memory/lifetime.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/err.h"

#define LIFETIME_FIRST_SLOTS 64u

struct lifetime_block {
    struct list link;
    uint64_t addr, bytes;
    uint64_t fill;      /* lifetime.fills when it was given out */
    uint32_t born;      /* epoch */
    uint32_t copied_at; /* epoch in which a copy filled it; 0: none did */
    bool kept, outlived;
    bool dead; /* freed since the mark: a survivor that nobody finds by address any more */
};

static __attribute__((cold, format(printf, 3, 4))) int lifetime_refuse(char *why, size_t why_bytes,
                                                                       const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(why, why_bytes, fmt, args);
    va_end(args);
    return ERR_PROTOCOL;
}

/* Appends all of `from`, in order. */
static void lifetime_splice(struct list *to, struct list *from) {
    if (list_empty(from)) return;
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    list_init(from);
}

static void lifetime_free_all(struct list *blocks) {
    struct list *pos, *tmp;
    list_each_safe(pos, tmp, blocks) free(list_entry(pos, struct lifetime_block, link));
}

void lifetime_init(struct lifetime *l, uint64_t base, uint64_t bytes) {
    *l = (struct lifetime){.base = base, .bytes = bytes, .epoch = 1};
    list_init(&l->fresh);
    list_init(&l->filled);
    list_init(&l->survivors);
    list_init(&l->kept);
}

void lifetime_finish(struct lifetime *l) {
    if (!l->epoch) return; /* never begun */
    lifetime_free_all(&l->fresh);
    lifetime_free_all(&l->filled);
    lifetime_free_all(&l->survivors);
    lifetime_free_all(&l->kept);
    free(l->slots);
    l->slots = NULL;
    l->epoch = 0;
}

/* ---- the table ------------------------------------------------------------------------------- */

static uint32_t lifetime_home(const struct lifetime *l, uint64_t addr) {
    return (uint32_t)(addr * 0x9e3779b97f4a7c15ull >> 40) & l->mask;
}

/* The block's slot, or the free one where it belongs. There is always a free one. */
static uint32_t lifetime_slot(const struct lifetime *l, uint64_t addr) {
    uint32_t i = lifetime_home(l, addr);
    while (l->slots[i] && l->slots[i]->addr != addr)
        i = (i + 1) & l->mask;
    return i;
}

static struct lifetime_block *lifetime_find(const struct lifetime *l, uint64_t addr) {
    return l->slots ? l->slots[lifetime_slot(l, addr)] : NULL;
}

/* Room for one more at half load; false when there is no memory. */
static bool lifetime_room(struct lifetime *l) {
    if (l->slots && l->count < (l->mask + 1) / 2) return true;
    uint32_t size = l->slots ? 2 * (l->mask + 1) : LIFETIME_FIRST_SLOTS;
    struct lifetime grown = {.slots = calloc(size, sizeof(*grown.slots)), .mask = size - 1};
    if (!grown.slots) return false;
    for (uint32_t i = 0; l->slots && i <= l->mask; i++)
        if (l->slots[i]) grown.slots[lifetime_slot(&grown, l->slots[i]->addr)] = l->slots[i];
    free(l->slots);
    l->slots = grown.slots;
    l->mask = grown.mask;
    return true;
}

static void lifetime_unhash(struct lifetime *l, uint64_t addr) {
    uint32_t hole = lifetime_slot(l, addr);
    l->count--;
    /* An entry may move into the hole unless its home lies between the hole and itself. */
    for (uint32_t i = (hole + 1) & l->mask; l->slots[i]; i = (i + 1) & l->mask) {
        uint32_t home = lifetime_home(l, l->slots[i]->addr);
        if (((i - home) & l->mask) < ((i - hole) & l->mask)) continue;
        l->slots[hole] = l->slots[i];
        hole = i;
    }
    l->slots[hole] = NULL;
}

/* ---- what the client says -------------------------------------------------------------------- */

int lifetime_use(struct lifetime *l, uint64_t addr, uint64_t bytes, char *why, size_t why_bytes) {
    if (addr < l->base || bytes > l->bytes || addr - l->base > l->bytes - bytes)
        return lifetime_refuse(why, why_bytes,
                               "block 0x%" PRIx64 "+0x%" PRIx64 " is not in the ephemeral window",
                               addr, bytes);
    if (bytes > l->bytes - l->live_bytes)
        return lifetime_refuse(why, why_bytes, "more blocks alive than the ephemeral window holds");
    if (lifetime_find(l, addr))
        return lifetime_refuse(why, why_bytes, "block 0x%" PRIx64 " is given out twice", addr);
    l->uses++;
    l->live_bytes += bytes;
    struct lifetime_block *b =
        l->count < LIFETIME_BLOCKS && lifetime_room(l) ? malloc(sizeof(*b)) : NULL;
    if (!b) {
        l->untracked++;
        return 0;
    }
    *b = (struct lifetime_block){.addr = addr, .bytes = bytes, .fill = l->fills, .born = l->epoch};
    l->slots[lifetime_slot(l, addr)] = b;
    l->count++;
    list_append(&l->fresh, &b->link);
    return 0;
}

/* It is among those that lifetime_settle will look at. */
static bool lifetime_survives(const struct lifetime *l, const struct lifetime_block *b) {
    bool launched = b->fill != l->mark_fills, copied = b->copied_at && b->copied_at != l->epoch;
    return l->marked && !b->kept && b->born != l->epoch && (launched || copied);
}

int lifetime_drop(struct lifetime *l, uint64_t addr, uint64_t bytes, char *why, size_t why_bytes) {
    struct lifetime_block *b = lifetime_find(l, addr);
    if (!b && l->untracked) {
        l->untracked--;
        l->live_bytes -= bytes < l->live_bytes ? bytes : l->live_bytes;
        return 0;
    }
    if (!b)
        return lifetime_refuse(why, why_bytes, "block 0x%" PRIx64 " is freed, but not alive", addr);
    if (b->bytes != bytes)
        return lifetime_refuse(why, why_bytes,
                               "block 0x%" PRIx64 " has %" PRIu64 " bytes, freed with %" PRIu64,
                               addr, b->bytes, bytes);
    l->live_bytes -= bytes < l->live_bytes ? bytes : l->live_bytes;
    lifetime_unhash(l, addr);
    b->dead = true;
    if (lifetime_survives(l, b)) return 0;
    list_remove(&b->link);
    free(b);
    return 0;
}

static void lifetime_copied(struct lifetime *l, struct lifetime_block *b) {
    b->copied_at = l->epoch;
    list_remove(&b->link);
    list_append(&l->filled, &b->link);
}

/* Mostly a copy begins where a block does; else the newest are the likeliest. */
void lifetime_written(struct lifetime *l, uint64_t addr, uint64_t bytes) {
    if (list_empty(&l->fresh) || addr >= l->base + l->bytes || addr + bytes <= l->base) return;
    struct lifetime_block *b = lifetime_find(l, addr);
    if (b && bytes <= b->bytes) {
        if (b->fill == l->fills && !b->copied_at) lifetime_copied(l, b);
        return;
    }
    for (struct list *pos = l->fresh.prev, *before; pos != &l->fresh; pos = before) {
        b = list_entry(pos, struct lifetime_block, link);
        before = pos->prev;
        if (addr < b->addr + b->bytes && addr + bytes > b->addr) lifetime_copied(l, b);
    }
}

void lifetime_fill(struct lifetime *l) {
    l->fills++;
    l->filled_uses = l->uses;
    lifetime_splice(&l->filled, &l->fresh);
}

/* ---- boundaries ------------------------------------------------------------------------------ */

void lifetime_mark(struct lifetime *l) {
    l->epoch++;
    l->mark_fills = l->fills;
    l->marked = true;
    l->crowded = l->untracked != 0;
    lifetime_splice(&l->survivors, &l->filled);
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
        if (b->dead)
            free(b);
        else
            list_append(b->kept ? &l->kept : &l->filled, &b->link);
    }
    return first;
}
