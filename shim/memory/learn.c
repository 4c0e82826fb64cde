/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks are in a queue in the order of their allocation, and are found by address through chains.
 * A boundary judges the blocks at its front that were alive in the iteration before it. A freed
 * block stays until then, because the boundary may have come before the free. When the queue is
 * full, the oldest block is dropped.
 *
 * Keys are stored in small sets; a new key replaces the one that was not looked up for longest.
 */
#include "shim/memory/learn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WAYS 8u
#define SETS (LEARN_KEYS / WAYS)
#define CHAINS LEARN_BLOCKS
#define NONE UINT32_MAX
/* A key becomes ephemeral after its blocks lived within one iteration this many times in a row. */
#define PROOFS 2u

enum verdict { VERDICT_NONE, VERDICT_EPHEMERAL, VERDICT_PERSISTENT };

struct key {
    uint64_t key;
    uint64_t looked; /* time of the last lookup, by the clock of lookups; 0: the entry is free */
    uint64_t proved; /* number of boundaries when `proofs` was last raised */
    enum verdict verdict;
    uint32_t proofs; /* iterations within which a block of this key lived */
};

enum life { LIFE_SETTLED, LIFE_ALIVE, LIFE_DEAD };

struct block {
    uint64_t addr, key;
    uint64_t born, died; /* announcements made at allocation and at free, its own included */
    uint64_t written;    /* announcements when the program first wrote to the block; 0: never */
    uint64_t boundaries; /* boundaries known when it was allocated */
    uint32_t chain;      /* next block in its chain, while alive */
    bool ephemeral;
    enum life life;
};

struct learn {
    uint64_t uses; /* announcements made */
    uint64_t boundaries;
    uint64_t clock;
    uint64_t first, next; /* queue positions; the index is position % LEARN_BLOCKS */
    uint32_t chains[CHAINS];
    struct key keys[LEARN_KEYS];
    struct block blocks[LEARN_BLOCKS];
};

static uint64_t mix(uint64_t h, uint64_t value) {
    h = (h ^ value) * 0x9e3779b97f4a7c15ull;
    return h ^ h >> 29;
}

uint64_t learn_key(uint64_t bytes, uint32_t stream, const struct learn_launch *latest,
                   uint64_t previous_bytes) {
    uint64_t h = mix(bytes, stream);
    h = mix(h, previous_bytes);
    h = mix(h, (uint64_t)latest->func << 32 | latest->grid[0]);
    h = mix(h, (uint64_t)latest->grid[1] << 32 | latest->grid[2]);
    h = mix(h, (uint64_t)latest->block[0] << 32 | latest->block[1]);
    return mix(h, latest->block[2]);
}

int learn_create(struct learn **out) {
    *out = calloc(1, sizeof(**out));
    if (!*out) return -ENOMEM;
    memset((*out)->chains, 0xff, sizeof((*out)->chains));
    return 0;
}

void learn_destroy(struct learn *l) {
    free(l);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static struct key *find_key(struct learn *l, uint64_t key) {
    struct key *set = &l->keys[key % SETS * WAYS];
    for (uint32_t i = 0; i < WAYS; i++) {
        if (!set[i].looked || set[i].key != key) continue;
        set[i].looked = ++l->clock;
        return &set[i];
    }
    return NULL;
}

static struct key *need_key(struct learn *l, uint64_t key) {
    struct key *found = find_key(l, key);
    if (found) return found;
    struct key *set = &l->keys[key % SETS * WAYS], *oldest = set;
    for (uint32_t i = 1; i < WAYS; i++) {
        if (set[i].looked < oldest->looked) oldest = &set[i];
    }
    *oldest = (struct key){.key = key, .looked = ++l->clock};
    return oldest;
}

static void outlived(struct learn *l, uint64_t key) {
    need_key(l, key)->verdict = VERDICT_PERSISTENT;
}

static void lived_within(struct learn *l, uint64_t key) {
    struct key *k = need_key(l, key);
    if (k->verdict != VERDICT_NONE || (k->proofs && k->proved == l->boundaries)) return;
    k->proved = l->boundaries;
    if (++k->proofs == PROOFS) k->verdict = VERDICT_EPHEMERAL;
}

bool learn_ephemeral(struct learn *l, uint64_t key, bool prior) {
    const struct key *k = find_key(l, key);
    if (!k || k->verdict == VERDICT_NONE) return prior;
    return k->verdict == VERDICT_EPHEMERAL;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static uint32_t *chain_of(struct learn *l, uint64_t addr) {
    return &l->chains[mix(addr, 0) % CHAINS];
}

static struct block *numbered(struct learn *l, uint64_t number) {
    return &l->blocks[number % LEARN_BLOCKS];
}

static void chain_remove(struct learn *l, const struct block *b) {
    uint32_t *at = chain_of(l, b->addr);
    while (&l->blocks[*at] != b)
        at = &l->blocks[*at].chain;
    *at = b->chain;
}

static struct block *find_block(struct learn *l, uint64_t addr) {
    uint32_t at = *chain_of(l, addr);
    while (at != NONE && l->blocks[at].addr != addr)
        at = l->blocks[at].chain;
    return at == NONE ? NULL : &l->blocks[at];
}

static void settle(struct learn *l, struct block *b) {
    if (b->life == LIFE_ALIVE) chain_remove(l, b);
    b->life = LIFE_SETTLED;
}

void learn_born(struct learn *l, uint64_t addr, uint64_t key, bool ephemeral) {
    l->uses += ephemeral;
    if (l->boundaries == 0) return;
    const struct key *k = find_key(l, key);
    if (k && k->verdict == VERDICT_PERSISTENT) return; /* nothing is left to learn */
    if (l->next - l->first == LEARN_BLOCKS) settle(l, numbered(l, l->first++));
    uint32_t *chain = chain_of(l, addr);
    struct block *b = numbered(l, l->next);
    *b = (struct block){.addr = addr,
                        .key = key,
                        .born = l->uses,
                        .boundaries = l->boundaries,
                        .chain = *chain,
                        .ephemeral = ephemeral,
                        .life = LIFE_ALIVE};
    *chain = (uint32_t)(l->next++ % LEARN_BLOCKS);
}

void learn_written(struct learn *l, uint64_t addr) {
    struct block *b = find_block(l, addr);
    if (b && !b->written) b->written = l->uses;
}

/* Judges by the number of boundaries in the block's life. The program has waited, so each boundary
 * before the free is known. At the allocation one boundary may have been unknown, but hardly two.
 */
static void judge_by_count(struct learn *l, struct block *b) {
    uint64_t passed = l->boundaries - b->boundaries;
    if (passed == 1) return;
    if (passed == 0)
        lived_within(l, b->key);
    else
        outlived(l, b->key);
    settle(l, b);
}

void learn_died(struct learn *l, uint64_t addr) {
    struct block *b = find_block(l, addr);
    if (!b) return;
    chain_remove(l, b);
    b->life = LIFE_DEAD;
    b->died = l->uses;
    if (!b->ephemeral) judge_by_count(l, b);
}

/* ---- boundaries ------------------------------------------------------------------------------ */

/* True for a block that was certainly allocated before the boundary's last launch. Only ephemeral
 * blocks are announced, so of another block we know only between which two announcements it was
 * allocated. If the launch lies between the same two, two boundaries since the allocation are
 * proof. */
static bool before(const struct learn *l, const struct block *b, uint64_t filled) {
    if (b->ephemeral) return b->born <= filled;
    return b->born < filled || l->boundaries - b->boundaries >= 2;
}

static void judge(struct learn *l, struct block *b, uint64_t uses) {
    if (b->life == LIFE_SETTLED) return;
    if (b->life == LIFE_ALIVE || b->died > uses)
        outlived(l, b->key);
    else if (!b->ephemeral && b->died < uses)
        lived_within(l, b->key);
    settle(l, b);
}

void learn_boundary(struct learn *l, uint64_t boundaries, uint64_t uses, uint64_t filled) {
    if (boundaries <= l->boundaries) return;
    l->boundaries = boundaries;
    for (; l->first < l->next; l->first++) {
        struct block *b = numbered(l, l->first);
        if (b->life != LIFE_SETTLED && !before(l, b, filled)) break;
        judge(l, b, uses);
    }
    /* Input that was fetched ahead of its iteration. */
    for (uint64_t i = l->first; i < l->next && numbered(l, i)->born <= uses; i++) {
        struct block *b = numbered(l, i);
        if (b->ephemeral && b->written && b->written <= uses) judge(l, b, uses);
    }
}
