/* SPDX-License-Identifier: Apache-2.0
 *
 * Register allocation: computes liveness over basic blocks, then by a linear scan gives registers
 * whose lives do not overlap the same slot. A lane sees only its own control flow, and slots are
 * written lane by lane. So an allocation that is right for one thread is right for a diverged warp.
 * This needs one condition: a lane's part of a slot is the same bytes for all registers that share
 * the slot. Therefore only registers of one layout share slots.
 */
#include "daemon/device/soft/decode/regalloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/minheap.h"

#define NOT_CROSSING (-1)

/* Limit on the words of the bit sets. Above it (hostile sizes) every register gets its own slot. */
#define REGALLOC_MAX_WORDS (4u << 20)

struct regalloc {
    struct code_func *f;
    const uint8_t *bytes;
    uint32_t regs;
    /* Index of each register in the sets, or NOT_CROSSING; `crossing` registers have one. */
    int32_t *crosses;
    int32_t *crossing_by;     /* register at each index of the sets */
    uint32_t crossing, words; /* words: of a set */
    uint32_t block_count;
    uint32_t *block_start; /* block_count + 1 items */
    uint32_t *block_of;    /* indexed by instruction */
    uint64_t *use, *def, *in, *out;
    /* Bounds of each register's life; start INT32_MAX: the register is unused. */
    int32_t *start, *end;
    int32_t *place;
};

typedef void regalloc_visit_fn(struct regalloc *r, int32_t *slot, bool def, uint32_t at);

/* Calls `fn` for each register field of instruction `at`, sources first. */
static void visit_slots(struct regalloc *r, uint32_t at, regalloc_visit_fn *fn) {
    struct code_inst *i = &r->f->insts[at];
    const struct code_extra *x = i->extra;
    int32_t *sources[] = {&i->pred, &i->a, &i->b, &i->c, &i->e};
    for (int k = 0; k < 5; k++)
        if (*sources[k] >= 0) fn(r, sources[k], false, at);
    for (uint32_t k = 0; x && k < x->use_count; k++)
        if (x->uses[k].slot >= 0) fn(r, &x->uses[k].slot, false, at);
    for (uint32_t k = 0; x && k < x->def_count; k++)
        if (x->defs[k].slot >= 0) fn(r, &x->defs[k].slot, true, at);
    if (i->d >= 0) fn(r, &i->d, true, at);
    if (i->d2 >= 0) fn(r, &i->d2, true, at);
}

static bool has(const uint64_t *set, int32_t v) {
    return set[v >> 6] >> (v & 63) & 1;
}

static void put(uint64_t *set, int32_t v) {
    set[v >> 6] |= 1ull << (v & 63);
}

/* Finds the registers that can be alive between blocks: those that some block reads before it has
 * certainly written them. Only these are in the sets; most registers live within one block. While
 * these registers are being found, `start` holds the last block that wrote a register, counted from
 * 1. */
static void look_across(struct regalloc *r, int32_t *slot, bool def, uint32_t at) {
    int32_t v = *slot, block = (int32_t)r->block_of[at] + 1;
    bool guarded = r->f->insts[at].pred != CODE_NO_SLOT;
    if (!def && r->start[v] != block && r->crosses[v] == NOT_CROSSING) {
        r->crossing_by[r->crossing] = v;
        r->crosses[v] = (int32_t)r->crossing++;
    }
    if (def && !guarded) r->start[v] = block;
}

/* Adds the field to the sets `use` and `def` of its block. A guarded write also counts as a read,
 * since other lanes keep the old value. */
static void note(struct regalloc *r, int32_t *slot, bool def, uint32_t at) {
    size_t base = (size_t)r->block_of[at] * r->words;
    bool guarded = r->f->insts[at].pred != CODE_NO_SLOT;
    int32_t v = r->crosses[*slot];
    if (v == NOT_CROSSING) return;
    if ((!def || guarded) && !has(r->def + base, v)) put(r->use + base, v);
    if (def && !guarded) put(r->def + base, v);
}

static void extend(struct regalloc *r, int32_t v, int32_t at) {
    if (at < r->start[v]) r->start[v] = at;
    if (at > r->end[v]) r->end[v] = at;
}

static void touch(struct regalloc *r, int32_t *slot, bool def, uint32_t at) {
    (void)def;
    extend(r, *slot, (int32_t)at);
}

static void rewrite(struct regalloc *r, int32_t *slot, bool def, uint32_t at) {
    (void)def;
    (void)at;
    *slot = r->place[*slot];
}

static bool leaves_block(const struct code_inst *i) {
    return !i->run && (i->op == PTX_OP_bra || i->op == PTX_OP_brx || i->op == PTX_OP_ret ||
                       i->op == PTX_OP_exit);
}

static void find_blocks(struct regalloc *r) {
    uint32_t n = r->f->count + 1;
    /* Reuses the array: bytes fit in its space. */
    unsigned char *first = (unsigned char *)r->block_of;
    memset(first, 0, n);
    first[0] = 1;
    for (uint32_t k = 0; k < n; k++) {
        const struct code_inst *i = &r->f->insts[k];
        const struct code_extra *x = i->extra;
        if (!leaves_block(i)) continue;
        if (k + 1 < n) first[k + 1] = 1;
        if (i->op == PTX_OP_bra) first[i->target] = 1;
        for (uint32_t t = 0; i->op == PTX_OP_brx && t < x->table_count; t++)
            first[x->table[t]] = 1;
    }
    r->block_count = 0;
    for (uint32_t k = 0; k < n; k++)
        if (first[k]) r->block_start[r->block_count++] = k;
    r->block_start[r->block_count] = n;
    for (uint32_t b = 0; b < r->block_count; b++)
        for (uint32_t k = r->block_start[b]; k < r->block_start[b + 1]; k++)
            r->block_of[k] = b;
}

static void find_crossing(struct regalloc *r) {
    for (uint32_t v = 0; v < r->regs; v++) {
        r->start[v] = 0;
        r->crosses[v] = NOT_CROSSING;
    }
    for (uint32_t k = 0; k <= r->f->count; k++)
        visit_slots(r, k, look_across);
    r->words = (r->crossing + 63) / 64;
}

static void join(struct regalloc *r, uint32_t b, uint32_t inst) {
    uint64_t *out = r->out + (size_t)b * r->words;
    const uint64_t *in = r->in + (size_t)r->block_of[inst] * r->words;
    for (uint32_t w = 0; w < r->words; w++)
        out[w] |= in[w];
}

static bool flow(struct regalloc *r, uint32_t b) {
    uint32_t last = r->block_start[b + 1] - 1;
    const struct code_inst *i = &r->f->insts[last];
    const struct code_extra *x = i->extra;
    bool leaves = leaves_block(i);
    if (leaves && i->op == PTX_OP_bra) join(r, b, (uint32_t)i->target);
    for (uint32_t t = 0; leaves && i->op == PTX_OP_brx && t < x->table_count; t++)
        join(r, b, (uint32_t)x->table[t]);
    if ((!leaves || i->pred != CODE_NO_SLOT) && last < r->f->count) join(r, b, last + 1);
    bool changed = false;
    size_t base = (size_t)b * r->words;
    for (uint32_t w = 0; w < r->words; w++) {
        uint64_t in = r->use[base + w] | (r->out[base + w] & ~r->def[base + w]);
        changed |= in != r->in[base + w];
        r->in[base + w] = in;
    }
    return changed;
}

/* Computes lives as intervals of instruction indices. A register that is alive at a block's edge
 * lives up to that edge. */
static int find_lives(struct regalloc *r) {
    size_t set = (size_t)r->block_count * r->words;
    if (set > REGALLOC_MAX_WORDS) {
        for (uint32_t v = 0; v < r->regs; v++) {
            r->start[v] = r->start[v] == INT32_MAX ? INT32_MAX : 0;
            r->end[v] = INT32_MAX;
        }
        return 0;
    }
    r->use = calloc(set * 4 + 1, sizeof(*r->use));
    if (!r->use) return -ENOMEM;
    r->def = r->use + set;
    r->in = r->def + set;
    r->out = r->in + set;
    for (uint32_t k = 0; k <= r->f->count; k++)
        visit_slots(r, k, note);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = r->block_count; b-- > 0;)
            changed |= flow(r, b);
    }
    for (uint32_t b = 0; b < r->block_count; b++) {
        for (uint32_t w = 0; w < r->words; w++) {
            uint64_t in = r->in[(size_t)b * r->words + w], out = r->out[(size_t)b * r->words + w];
            for (uint64_t bits = in; bits; bits &= bits - 1)
                extend(r, r->crossing_by[w * 64 + (uint32_t)__builtin_ctzll(bits)],
                       (int32_t)r->block_start[b]);
            for (uint64_t bits = out; bits; bits &= bits - 1)
                extend(r, r->crossing_by[w * 64 + (uint32_t)__builtin_ctzll(bits)],
                       (int32_t)r->block_start[b + 1] - 1);
        }
    }
    return 0;
}

/* Layout of the lanes in a slot. A predicate's lanes are bits of one word; other lanes lie their
 * width apart. A sink's lanes lie as the instruction that writes them has them. */
enum regalloc_layout {
    REGALLOC_PRED,
    REGALLOC_16,
    REGALLOC_32,
    REGALLOC_64,
    REGALLOC_128,
    REGALLOC_SINK,
    REGALLOC_LAYOUTS
};

static enum regalloc_layout layout_of(uint32_t bytes) {
    switch (bytes) {
    case 0: return REGALLOC_PRED;
    case 2: return REGALLOC_16;
    case 4: return REGALLOC_32;
    case 8: return REGALLOC_64;
    case 16: return REGALLOC_128;
    default: return REGALLOC_SINK;
    }
}

static uint32_t slot_bytes(enum regalloc_layout layout) {
    static const uint32_t lane[REGALLOC_LAYOUTS] = {2, 2, 4, 8, 16, 16};
    return lane[layout] * WARP_LANES;
}

/* Weight of a register in the function's register pressure, in 32-bit registers. */
static uint32_t slot_words(enum regalloc_layout layout) {
    static const uint32_t words[REGALLOC_LAYOUTS] = {0, 1, 1, 2, 4, 0};
    return words[layout];
}

struct regalloc_free { /* slots of one layout that are free again */
    int32_t *items;
    uint32_t count;
};

struct regalloc_scan {
    struct regalloc *r;
    struct regalloc_free free[REGALLOC_LAYOUTS];
    struct minheap alive; /* registers, the earliest end first */
    uint64_t top;         /* bytes of slots handed out */
    uint32_t words;
};

static bool ends_before(const void *keys, uint32_t a, uint32_t b) {
    const int32_t *end = keys;
    return end[a] < end[b];
}

/* Frees the slots of registers whose lives ended before `at`. A life that ends at `at` keeps its
 * slot: an instruction may write a destination before it has read all its sources. */
static void expire(struct regalloc_scan *s, int32_t at) {
    const struct regalloc *r = s->r;
    while (s->alive.count && r->end[s->alive.items[0]] < at) {
        uint32_t dead = minheap_take(&s->alive, ends_before, r->end);
        enum regalloc_layout layout = layout_of(r->bytes[dead]);
        struct regalloc_free *list = &s->free[layout];
        list->items[list->count++] = r->place[dead];
        s->words -= slot_words(layout);
    }
}

static void place_value(struct regalloc_scan *s, int32_t v) {
    struct regalloc *r = s->r;
    enum regalloc_layout layout = layout_of(r->bytes[v]);
    struct regalloc_free *list = &s->free[layout];
    if (list->count) {
        r->place[v] = list->items[--list->count];
    } else {
        r->place[v] = (int32_t)s->top;
        s->top += slot_bytes(layout);
    }
    minheap_add(&s->alive, (uint32_t)v, ends_before, r->end);
    s->words += slot_words(layout);
    if (s->words > r->f->pressure) r->f->pressure = s->words;
}

static int scan_in_order(struct regalloc *r, const int32_t *order, uint32_t count) {
    const size_t n = r->regs;
    int32_t *room = malloc((n + 1) * (REGALLOC_LAYOUTS + 1) * sizeof(*room));
    if (!room) return -ENOMEM;
    struct regalloc_scan s = {.r = r,
                              .alive = {.items = (uint32_t *)(room + REGALLOC_LAYOUTS * n)}};
    for (uint32_t k = 0; k < REGALLOC_LAYOUTS; k++)
        s.free[k].items = room + k * n;
    for (uint32_t k = 0; k < count && s.top <= CODE_FRAME_MAX; k++) {
        expire(&s, r->start[order[k]]);
        place_value(&s, order[k]);
    }
    free(room);
    r->f->reg_bytes = (uint32_t)s.top;
    return s.top > CODE_FRAME_MAX ? ERR_ILLEGAL_INSTRUCTION : 0;
}

/* Sorts registers by the start of their lives: a counting sort over instruction indices. */
static int sort_and_scan(struct regalloc *r) {
    uint32_t n = r->f->count + 2, count = 0;
    uint32_t *at = calloc(n + 1, sizeof(*at));
    int32_t *order = malloc(((size_t)r->regs + 1) * sizeof(*order));
    int err = at && order ? 0 : -ENOMEM;
    for (uint32_t v = 0; !err && v < r->regs; v++)
        if (r->start[v] != INT32_MAX) at[r->start[v] + 1]++;
    for (uint32_t k = 1; !err && k <= n; k++)
        at[k] += at[k - 1];
    for (uint32_t v = 0; !err && v < r->regs; v++)
        if (r->start[v] != INT32_MAX) {
            order[at[r->start[v]]++] = (int32_t)v;
            count++;
        }
    if (!err) err = scan_in_order(r, order, count);
    free(at);
    free(order);
    return err;
}

int regalloc_run(struct code_func *f, const uint8_t *bytes, uint32_t reg_count) {
    struct regalloc r = {.f = f, .bytes = bytes, .regs = reg_count};
    uint32_t n = f->count + 1;
    r.block_start = malloc((n + 1) * sizeof(*r.block_start));
    r.block_of = malloc((n + 1) * sizeof(*r.block_of));
    r.start = malloc(((size_t)reg_count + 1) * 5 * sizeof(*r.start));
    int err = r.block_start && r.block_of && r.start ? 0 : -ENOMEM;
    if (!err) {
        r.end = r.start + reg_count;
        r.place = r.end + reg_count;
        r.crosses = r.place + reg_count;
        r.crossing_by = r.crosses + reg_count;
        find_blocks(&r);
        find_crossing(&r);
        for (uint32_t v = 0; v < reg_count; v++) {
            r.start[v] = INT32_MAX;
            r.end[v] = -1;
            r.place[v] = 0;
        }
        for (uint32_t k = 0; k < n; k++)
            visit_slots(&r, k, touch);
        err = find_lives(&r);
    }
    if (!err) err = sort_and_scan(&r);
    for (uint32_t k = 0; !err && k < n; k++)
        visit_slots(&r, k, rewrite);
    /* Call arguments repeat the slots of uses and defs, which have been rewritten; update them too.
     */
    for (uint32_t k = 0; !err && k < n; k++) {
        const struct code_extra *x = f->insts[k].extra;
        if (!x || (!x->args && !x->rets)) continue;
        for (uint32_t q = 0, u = 0; q < x->arg_count; q++)
            if (x->args[q].in_slot) x->args[q].elem.slot = x->uses[u++].slot;
        for (uint32_t q = 0, d = 0; q < x->ret_count; q++)
            if (x->rets[q].in_slot) x->rets[q].elem.slot = x->defs[d++].slot;
    }
    free(r.block_start);
    free(r.block_of);
    free(r.start);
    free(r.use);
    return err;
}
