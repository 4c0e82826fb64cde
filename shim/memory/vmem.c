/* SPDX-License-Identifier: Apache-2.0
 *
 * Address allocator of a window. Size classes are 1, 2, 3, 4, 6, 8, 12 ... times 512 bytes, up to
 * half a granule: of a request above 1 KiB, less than a third of the block is lost to rounding.
 */
#include "shim/memory/vmem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The state of a granule. RESERVED: part of an allocation in progress, with memory or with a
 * request for it. BARE: the same, before the request. TAKEN: addresses used by vmem_reserve's
 * callers. */
enum kind {
    KIND_FREE,
    KIND_CACHED,
    KIND_LARGE,
    KIND_BODY,
    KIND_SLAB,
    KIND_RESERVED,
    KIND_BARE,
    KIND_TAKEN
};

struct vmem_slab {
    uint64_t index; /* index of its granule */
    uint32_t class, slots, used;
    uint32_t hint;  /* no word of `free` below it has a bit set */
    uint64_t *free; /* bit set: slot is free */
    uint32_t *bytes, *tags;
    bool exposed;
    struct vmem_slab *prev, *next; /* links among the class's partial slabs */
    struct vmem_slab *all_prev, *all_next;
};

struct vmem_granule {
    union {
        struct vmem_slab *slab; /* KIND_SLAB */
        uint64_t length;        /* KIND_LARGE: granules; KIND_BODY: distance back to the head */
    };
    uint64_t bytes;
    uint32_t tag;
    bool exposed; /* set in the head of a large block */
};

static uint64_t class_bytes(uint32_t class) {
    uint64_t unit = (uint64_t)VMEM_ALIGN << (class / 2);
    return class == 0 ? VMEM_ALIGN : class % 2 ? unit * 2 : unit + unit / 2;
}

/* Returns the class: 0, 1, 2 ... for 512, 1024, 1536, 2048, 3072 ... bytes; VMEM_CLASSES for a
 * large block. */
static uint32_t class_of(const struct vmem *v, uint64_t bytes) {
    if (bytes > v->granule / 2) return VMEM_CLASSES;
    for (uint32_t class = 0; class < VMEM_CLASSES; class ++) {
        if (class_bytes(class) >= bytes) return class;
    }
    return VMEM_CLASSES;
}

static uint64_t granules_for(const struct vmem *v, uint64_t bytes) {
    return bytes / v->granule + (bytes % v->granule != 0);
}

static uint64_t address(const struct vmem *v, uint64_t index) {
    return v->base + index * v->granule;
}

/* Maps zeroed memory that is not touched: a window of 128 TiB costs address space only. */
static void *reserve(uint64_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

int vmem_init(struct vmem *v, uint64_t base, uint64_t bytes, uint64_t granule, uint64_t cache_bytes,
              const struct vmem_ops *ops, void *arg) {
    memset(v, 0, sizeof(*v));
    v->base = base;
    v->granule = granule;
    v->count = bytes / granule;
    v->cache_limit = cache_bytes / granule;
    v->ops = ops;
    v->arg = arg;
    v->kinds = reserve(v->count);
    v->granules = reserve(v->count * sizeof(*v->granules));
    if (v->kinds && v->granules) return 0;
    vmem_finish(v);
    return -ENOMEM;
}

static void slab_destroy(struct vmem_slab *s) {
    if (!s) return;
    free(s->free);
    free(s->bytes);
    free(s->tags);
    free(s);
}

void vmem_finish(struct vmem *v) {
    for (struct vmem_slab *s = v->slabs, *next; s; s = next) {
        next = s->all_next;
        slab_destroy(s);
    }
    v->slabs = NULL;
    if (v->kinds) munmap(v->kinds, v->count);
    if (v->granules) munmap(v->granules, v->count * sizeof(*v->granules));
    v->kinds = NULL;
    v->granules = NULL;
}

/* ---- granules -------------------------------------------------------------------------------- */

/* Returns the first run of `n` free granules, all of them backed if `cached_only`; v->count when
 * there is none. */
static uint64_t find_run(const struct vmem *v, uint64_t n, bool cached_only) {
    uint64_t run = 0;
    for (uint64_t i = v->lowest; i < v->count; i++) {
        bool fits = v->kinds[i] == KIND_CACHED || (!cached_only && v->kinds[i] == KIND_FREE);
        run = fits ? run + 1 : 0;
        if (run == n) return i + 1 - n;
    }
    return v->count;
}

static uint64_t credit(const struct vmem *v) {
    return v->ops->credit ? v->ops->credit(v->arg) : UINT64_MAX;
}

/* Frees the memory of all empty granules if only that memory makes the request exceed the credit.
 */
static void make_room(struct vmem *v, uint64_t first, uint64_t n) {
    uint64_t missing = 0, limit = credit(v);
    for (uint64_t i = first; i < first + n; i++)
        missing += v->kinds[i] == KIND_FREE;
    if (v->used_granules + v->cached + missing > limit && v->used_granules + n <= limit)
        vmem_trim(v);
}

/* Reserves `n` granules for one allocation. 0 or -ENOMEM. */
static int reserve_run(struct vmem *v, uint64_t n, uint64_t *first) {
    if (n > v->count) return -ENOMEM;
    uint64_t at = n <= v->cached ? find_run(v, n, true) : v->count;
    if (at == v->count) at = find_run(v, n, false);
    if (at == v->count) return -ENOMEM;
    make_room(v, at, n);
    for (uint64_t i = at; i < at + n; i++) {
        bool backed = v->kinds[i] == KIND_CACHED;
        v->kinds[i] = backed ? KIND_RESERVED : KIND_BARE;
        v->cached -= backed;
        v->bare += !backed;
    }
    v->used_granules += n;
    if (at == v->lowest) v->lowest = at + n;
    *first = at;
    return 0;
}

/* Releases a run. Granules with memory stay cached; the piece that was refused has none. */
static void cancel_run(struct vmem *v, const struct vmem_ask *ask) {
    uint64_t refused = (ask->addr - v->base) / v->granule, n = ask->bytes / v->granule;
    for (uint64_t i = ask->first; i < ask->first + ask->count; i++) {
        bool backed = v->kinds[i] == KIND_RESERVED && i - refused >= n;
        v->bare -= v->kinds[i] == KIND_BARE;
        v->kinds[i] = backed ? KIND_CACHED : KIND_FREE;
        v->cached += backed;
    }
    v->used_granules -= ask->count;
    if (ask->first < v->lowest) v->lowest = ask->first;
}

/* Backs the bare part of a reserved run, piece by piece. 0; -EAGAIN at a piece beyond the credit.
 */
static int back_run(struct vmem *v, struct vmem_ask *ask) {
    uint64_t end = ask->first + ask->count;
    for (uint64_t i = ask->first; i < end;) {
        uint64_t from = i;
        while (i < end && v->kinds[i] == KIND_BARE)
            i++;
        if (i == from) {
            i++;
            continue;
        }
        uint64_t had = v->used_granules + v->cached - v->bare, n = i - from;
        memset(v->kinds + from, KIND_RESERVED, n);
        v->bare -= n;
        ask->addr = address(v, from);
        ask->bytes = n * v->granule;
        if (had + n > credit(v)) return -EAGAIN;
        v->ops->back(v->arg, ask->addr, ask->bytes);
    }
    return 0;
}

static void give_run(struct vmem *v, uint64_t first, uint64_t n, bool exposed) {
    v->used_granules -= n;
    if (first < v->lowest) v->lowest = first;
    if (!exposed && v->cached + n <= v->cache_limit) {
        memset(v->kinds + first, KIND_CACHED, n);
        v->cached += n;
        return;
    }
    memset(v->kinds + first, KIND_FREE, n);
    v->ops->unback(v->arg, address(v, first), n * v->granule);
}

void vmem_trim(struct vmem *v) {
    for (uint64_t i = v->lowest; v->cached > 0 && i < v->count;) {
        uint64_t end = i;
        while (end < v->count && v->kinds[end] == KIND_CACHED)
            end++;
        if (end == i) {
            i++;
            continue;
        }
        memset(v->kinds + i, KIND_FREE, end - i);
        v->cached -= end - i;
        v->ops->unback(v->arg, address(v, i), (end - i) * v->granule);
        i = end;
    }
}

/* ---- addresses without memory ---------------------------------------------------------------- */

static bool all_free(const struct vmem *v, uint64_t first, uint64_t n) {
    if (first >= v->count || n > v->count - first) return false;
    for (uint64_t i = first; i < first + n; i++)
        if (v->kinds[i] != KIND_FREE) return false;
    return true;
}

/* Returns the last run of `n` free granules that begins at a multiple of `align`; v->count when
 * there is none. */
static uint64_t find_last(const struct vmem *v, uint64_t n, uint64_t align) {
    uint64_t run = 0;
    for (uint64_t i = v->count; i-- > 0;) {
        run = v->kinds[i] == KIND_FREE ? run + 1 : 0;
        if (run >= n && !(align && address(v, i) & (align - 1))) return i;
    }
    return v->count;
}

int vmem_reserve(struct vmem *v, uint64_t bytes, uint64_t align, uint64_t want, uint64_t *addr) {
    uint64_t n = granules_for(v, bytes), at = (want - v->base) / v->granule;
    bool wanted = want >= v->base && want % v->granule == 0 && !(align && want & (align - 1));
    if (n > v->count) return -ENOMEM;
    if (!wanted || !all_free(v, at, n)) at = find_last(v, n, align);
    if (at == v->count) return -ENOMEM;
    memset(v->kinds + at, KIND_TAKEN, n);
    *addr = address(v, at);
    return 0;
}

void vmem_unreserve(struct vmem *v, uint64_t addr, uint64_t bytes) {
    uint64_t first = (addr - v->base) / v->granule;
    memset(v->kinds + first, KIND_FREE, granules_for(v, bytes));
    if (first < v->lowest) v->lowest = first;
}

/* ---- slabs ----------------------------------------------------------------------------------- */

static void partial_add(struct vmem *v, struct vmem_slab *s) {
    s->prev = NULL;
    s->next = v->partial[s->class];
    if (s->next) s->next->prev = s;
    v->partial[s->class] = s;
}

static void partial_remove(struct vmem *v, struct vmem_slab *s) {
    if (s->prev)
        s->prev->next = s->next;
    else
        v->partial[s->class] = s->next;
    if (s->next) s->next->prev = s->prev;
}

static void all_add(struct vmem *v, struct vmem_slab *s) {
    s->all_next = v->slabs;
    if (s->all_next) s->all_next->all_prev = s;
    v->slabs = s;
}

static void all_remove(struct vmem *v, struct vmem_slab *s) {
    if (s->all_prev)
        s->all_prev->all_next = s->all_next;
    else
        v->slabs = s->all_next;
    if (s->all_next) s->all_next->all_prev = s->all_prev;
}

/* Creates a slab in a reserved granule. */
static struct vmem_slab *slab_create(struct vmem *v, uint32_t class, uint64_t index) {
    struct vmem_slab *s = calloc(1, sizeof(*s));
    if (!s) return NULL;
    s->index = index;
    s->class = class;
    s->slots = (uint32_t)(v->granule / class_bytes(class));
    uint32_t words = (s->slots + 63) / 64;
    s->free = calloc(words, sizeof(*s->free));
    s->bytes = calloc(s->slots, sizeof(*s->bytes));
    s->tags = calloc(s->slots, sizeof(*s->tags));
    if (!s->free || !s->bytes || !s->tags) {
        slab_destroy(s);
        return NULL;
    }
    for (uint32_t i = 0; i < s->slots; i++)
        s->free[i / 64] |= 1ull << (i % 64);
    v->kinds[s->index] = KIND_SLAB;
    v->granules[s->index].slab = s;
    partial_add(v, s);
    all_add(v, s);
    return s;
}

static uint64_t take_slot(struct vmem *v, struct vmem_slab *s, uint64_t bytes, uint32_t tag) {
    while (!s->free[s->hint])
        s->hint++;
    uint32_t slot = s->hint * 64 + (uint32_t)__builtin_ctzll(s->free[s->hint]);
    s->free[slot / 64] &= ~(1ull << (slot % 64));
    s->bytes[slot] = (uint32_t)bytes;
    s->tags[slot] = tag;
    if (++s->used == s->slots) partial_remove(v, s);
    return address(v, s->index) + slot * class_bytes(s->class);
}

static void small_free(struct vmem *v, struct vmem_slab *s, uint32_t slot) {
    s->free[slot / 64] |= 1ull << (slot % 64);
    if (slot / 64 < s->hint) s->hint = slot / 64;
    if (s->used-- == s->slots) partial_add(v, s);
    if (s->used > 0) return;
    partial_remove(v, s);
    all_remove(v, s);
    v->granules[s->index].slab = NULL;
    give_run(v, s->index, 1, s->exposed);
    slab_destroy(s);
}

/* Returns the used slot of `s` that contains `addr`; s->slots when none does. */
static uint32_t slot_at(const struct vmem *v, const struct vmem_slab *s, uint64_t addr) {
    uint64_t slot = (addr - address(v, s->index)) / class_bytes(s->class);
    if (slot >= s->slots || s->free[slot / 64] >> (slot % 64) & 1) return s->slots;
    return (uint32_t)slot;
}

static void slot_block(const struct vmem *v, const struct vmem_slab *s, uint32_t slot,
                       struct vmem_block *out) {
    out->addr = address(v, s->index) + slot * class_bytes(s->class);
    out->bytes = s->bytes[slot];
    out->tag = s->tags[slot];
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static uint64_t place_large(struct vmem *v, const struct vmem_ask *a) {
    v->kinds[a->first] = KIND_LARGE;
    v->granules[a->first] =
        (struct vmem_granule){.length = a->count, .bytes = a->wanted_bytes, .tag = a->tag};
    for (uint64_t i = 1; i < a->count; i++) {
        v->kinds[a->first + i] = KIND_BODY;
        v->granules[a->first + i].length = i;
    }
    return address(v, a->first);
}

/* Backs the reserved run, and makes the block in it. */
static int go_on(struct vmem *v, struct vmem_ask *ask, uint64_t *addr) {
    uint32_t class = class_of(v, ask->wanted_bytes);
    int err = back_run(v, ask);
    if (err) return err;
    if (class == VMEM_CLASSES) {
        *addr = place_large(v, ask);
    } else {
        struct vmem_slab *s = slab_create(v, class, ask->first);
        if (!s) {
            give_run(v, ask->first, 1, false);
            return -ENOMEM;
        }
        *addr = take_slot(v, s, ask->wanted_bytes, ask->tag);
    }
    return 0;
}

static int begin(struct vmem *v, struct vmem_ask *ask, uint64_t *addr) {
    int err = reserve_run(v, ask->count, &ask->first);
    return err ? err : go_on(v, ask, addr);
}

int vmem_alloc(struct vmem *v, uint64_t bytes, uint32_t tag, uint64_t *addr, struct vmem_ask *ask) {
    if (bytes == 0) return -EINVAL;
    uint32_t class = class_of(v, bytes);
    if (class < VMEM_CLASSES && v->partial[class]) {
        *addr = take_slot(v, v->partial[class], bytes, tag);
        return 0;
    }
    uint64_t count = class < VMEM_CLASSES ? 1 : granules_for(v, bytes);
    *ask = (struct vmem_ask){.wanted_bytes = bytes, .count = count, .tag = tag};
    return begin(v, ask, addr);
}

/* After a refusal, tries once more if freeing empty granules could help. */
int vmem_settle(struct vmem *v, struct vmem_ask *ask, bool granted, uint64_t *addr) {
    if (granted) return go_on(v, ask, addr);
    cancel_run(v, ask);
    bool again = !ask->again && v->cached > 0;
    vmem_trim(v);
    ask->again = true;
    return again ? begin(v, ask, addr) : -ENOMEM;
}

int vmem_find(const struct vmem *v, uint64_t addr, struct vmem_block *out) {
    uint64_t index = (addr - v->base) / v->granule;
    if (addr < v->base || index >= v->count) return -ENOENT;
    if (v->kinds[index] == KIND_SLAB) {
        const struct vmem_slab *s = v->granules[index].slab;
        uint32_t slot = slot_at(v, s, addr);
        if (slot == s->slots) return -ENOENT;
        slot_block(v, s, slot, out);
        return addr - out->addr < out->bytes ? 0 : -ENOENT;
    }
    if (v->kinds[index] == KIND_BODY) index -= v->granules[index].length;
    if (v->kinds[index] != KIND_LARGE) return -ENOENT;
    *out = (struct vmem_block){address(v, index), v->granules[index].bytes, v->granules[index].tag};
    return addr - out->addr < out->bytes ? 0 : -ENOENT;
}

int vmem_next(const struct vmem *v, uint64_t addr, struct vmem_block *out) {
    uint64_t index = addr <= v->base ? 0 : (addr - v->base) / v->granule;
    for (; index < v->count; index++) {
        if (v->kinds[index] == KIND_LARGE && address(v, index) >= addr)
            return vmem_find(v, address(v, index), out);
        if (v->kinds[index] != KIND_SLAB) continue;
        const struct vmem_slab *s = v->granules[index].slab;
        for (uint32_t slot = 0; slot < s->slots; slot++) {
            if (s->free[slot / 64] >> (slot % 64) & 1) continue;
            slot_block(v, s, slot, out);
            if (out->addr >= addr) return 0;
        }
    }
    return -ENOENT;
}

int vmem_free(struct vmem *v, uint64_t addr) {
    struct vmem_block block;
    if (vmem_find(v, addr, &block) || block.addr != addr) return -EINVAL;
    uint64_t index = (addr - v->base) / v->granule;
    if (v->kinds[index] == KIND_SLAB) {
        struct vmem_slab *s = v->granules[index].slab;
        small_free(v, s, slot_at(v, s, addr));
        return 0;
    }
    give_run(v, index, v->granules[index].length, v->granules[index].exposed);
    return 0;
}

int vmem_expose(struct vmem *v, uint64_t addr, uint64_t *first, uint64_t *bytes) {
    struct vmem_block block;
    if (vmem_find(v, addr, &block) || block.addr != addr) return -EINVAL;
    uint64_t index = (addr - v->base) / v->granule;
    struct vmem_granule *g = &v->granules[index];
    bool slab = v->kinds[index] == KIND_SLAB;
    *(slab ? &g->slab->exposed : &g->exposed) = true;
    *first = address(v, index);
    *bytes = (slab ? 1 : g->length) * v->granule;
    return 0;
}

int vmem_retag(struct vmem *v, uint64_t addr, uint64_t bytes, uint32_t tag) {
    struct vmem_block block;
    if (vmem_find(v, addr, &block) || block.addr != addr) return -EINVAL;
    if (bytes == 0 || vmem_capacity(v, bytes) != vmem_capacity(v, block.bytes)) return -EINVAL;
    uint64_t index = (addr - v->base) / v->granule;
    if (v->kinds[index] == KIND_SLAB) {
        struct vmem_slab *s = v->granules[index].slab;
        uint32_t slot = slot_at(v, s, addr);
        s->bytes[slot] = (uint32_t)bytes;
        s->tags[slot] = tag;
        return 0;
    }
    v->granules[index].bytes = bytes;
    v->granules[index].tag = tag;
    return 0;
}

uint64_t vmem_capacity(const struct vmem *v, uint64_t bytes) {
    uint32_t class = class_of(v, bytes);
    return class == VMEM_CLASSES ? granules_for(v, bytes) * v->granule : class_bytes(class);
}
