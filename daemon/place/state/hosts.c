/* SPDX-License-Identifier: Apache-2.0
 *
 * Summaries of nodes, and treaps of nodes.
 */
#include "daemon/place/state/hosts.h"

#include <stdlib.h>
#include <string.h>

#include "common/slotmap.h"
#include "daemon/place/state/place_growth.h"

#define SEED 0x8ebc6af09c88c6e3ull

void hosts_init(struct hosts *h) {
    *h = (struct hosts){.mixed = NODES_NONE};
}

void hosts_finish(struct hosts *h) {
    free(h->at);
    free(h->roots);
}

int hosts_reserve(struct hosts *h, uint64_t nodes, uint64_t kinds) {
    int err = 0;
    h->at = place_growth_for(h->at, &h->capacity, nodes, sizeof(*h->at), &err);
    h->roots = place_growth_for(h->roots, &h->roots_capacity, kinds, sizeof(*h->roots), &err);
    return err;
}

/* ---- summaries ------------------------------------------------------------------------------- */

static struct hosts_span nothing(void) {
    struct hosts_span s = {.gpus = index_span_none()};
    memset(s.ppm, 0xff, sizeof(s.ppm));
    memset(s.bytes, 0xff, sizeof(s.bytes));
    return s;
}

static void insert(uint64_t *sorted, uint32_t count, uint64_t value) {
    for (; count && sorted[count - 1] > value; count--)
        sorted[count] = sorted[count - 1];
    sorted[count] = value;
}

static uint32_t bit_of(uint64_t bytes, uint64_t memory_bytes) {
    uint64_t part = bytes / (memory_bytes / 64 + 1);
    return part < 63 ? (uint32_t)part : 63;
}

static struct hosts_span look(const struct node *n, const struct gpus *g) {
    uint64_t ppm[PLACE_GPUS_A_NODE], bytes[PLACE_GPUS_A_NODE];
    struct hosts_span s = nothing();
    uint32_t count = 0;
    for (uint32_t i = n->gpu_first; i < n->gpu_first + n->gpu_count; i++) {
        const struct gpu *gpu = &g->at[i];
        if (gpu->tree == GPUS_NONE) continue;
        struct gpus_span own = index_span_of(gpu);
        index_span_widen(&s.gpus, &own);
        insert(ppm, count, gpu->use.util_ppm);
        insert(bytes, count++, gpus_bytes(&gpu->use));
    }
    for (uint32_t c = 0; c < HOSTS_CLASSES && count >= 2u << c; c++) {
        s.ppm[c] = ppm[(2u << c) - 1];
        s.bytes[c] = bytes[(2u << c) - 1];
        s.full_ppm[c] = ppm[count - (2u << c)];
        s.full_bytes[c] = bytes[count - (2u << c)];
        for (uint32_t i = 0; i + (2u << c) <= count; i++)
            s.some_bytes[c] |= (uint64_t)1 << bit_of(bytes[i], g->at[n->gpu_first].memory_bytes);
    }
    return s;
}

static void widen(struct hosts_span *a, const struct hosts_span *b) {
    index_span_widen(&a->gpus, &b->gpus);
    for (uint32_t c = 0; c < HOSTS_CLASSES; c++) {
        if (b->ppm[c] < a->ppm[c]) a->ppm[c] = b->ppm[c];
        if (b->bytes[c] < a->bytes[c]) a->bytes[c] = b->bytes[c];
        if (b->full_ppm[c] > a->full_ppm[c]) a->full_ppm[c] = b->full_ppm[c];
        if (b->full_bytes[c] > a->full_bytes[c]) a->full_bytes[c] = b->full_bytes[c];
        a->some_bytes[c] |= b->some_bytes[c];
    }
}

uint64_t hosts_below(const struct hosts_span *span, uint32_t class, uint64_t memory_bytes,
                     uint64_t most_bytes) {
    uint64_t all = ~(uint64_t)0 >> (63 - bit_of(most_bytes, memory_bytes));
    uint64_t some = span->some_bytes[class] & all;
    if (!some) return UINT64_MAX;
    uint64_t top = 63 - (uint64_t)__builtin_clzll(some);
    uint64_t below = top < 63 ? (top + 1) * (memory_bytes / 64 + 1) - 1 : most_bytes;
    if (span->full_bytes[class] < below) below = span->full_bytes[class];
    return most_bytes < below ? most_bytes : below;
}

static struct hosts_span sum_up(const struct host *at, const struct host *it) {
    struct hosts_span s = it->own;
    if (it->left != NODES_NONE) widen(&s, &at[it->left].span);
    if (it->right != NODES_NONE) widen(&s, &at[it->right].span);
    return s;
}

static void pull(struct host *at, uint32_t node) {
    at[node].span = sum_up(at, &at[node]);
}

/* ---- treaps ---------------------------------------------------------------------------------- */

static uint32_t join(struct host *at, uint32_t before, uint32_t behind) {
    if (before == NODES_NONE) return behind;
    if (behind == NODES_NONE) return before;
    uint32_t root = at[before].rank > at[behind].rank ? before : behind;
    if (root == before)
        at[root].right = join(at, at[root].right, behind);
    else
        at[root].left = join(at, before, at[root].left);
    pull(at, root);
    return root;
}

static uint32_t take(struct host *at, uint32_t root, uint32_t node) {
    if (root == node) return join(at, at[node].left, at[node].right);
    if (at[node].turn < at[root].turn)
        at[root].left = take(at, at[root].left, node);
    else
        at[root].right = take(at, at[root].right, node);
    pull(at, root);
    return root;
}

/* Returns true if the summary changed, so that parents must be updated. */
static bool refresh(struct host *at, uint32_t root, uint32_t node) {
    uint32_t next = at[node].turn < at[root].turn ? at[root].left : at[root].right;
    if (root != node && !refresh(at, next, node)) return false;
    struct hosts_span span = sum_up(at, &at[root]);
    if (!memcmp(&span, &at[root].span, sizeof(span))) return false;
    at[root].span = span;
    return true;
}

static uint32_t *root_of(struct hosts *h, uint32_t kind) {
    if (kind == HOSTS_MIXED) return &h->mixed;
    while (h->roots_count <= kind)
        h->roots[h->roots_count++] = NODES_NONE;
    return &h->roots[kind];
}

static uint32_t kind_of(const struct node *n, const struct gpus *g) {
    uint32_t kind = g->at[n->gpu_first].kind;
    for (uint32_t i = 1; i < n->gpu_count; i++)
        if (g->at[n->gpu_first + i].kind != kind) return HOSTS_MIXED;
    return kind;
}

/* The node goes last, because turns only increase. */
void hosts_add(struct hosts *h, const struct nodes *n, const struct gpus *g, uint32_t node) {
    const struct node *it = &n->at[node];
    uint64_t turn = g->at[it->gpu_first].turn;
    h->at[node] = (struct host){.kind = kind_of(it, g),
                                .left = NODES_NONE,
                                .right = NODES_NONE,
                                .rank = (uint32_t)slotmap_hash_word(turn, SEED),
                                .turn = turn,
                                .in = it->gpu_count > 1,
                                .own = look(it, g)};
    if (!h->at[node].in) return;
    uint32_t *root = root_of(h, h->at[node].kind);
    pull(h->at, node);
    *root = join(h->at, *root, node);
}

void hosts_remove(struct hosts *h, uint32_t node) {
    struct host *it = &h->at[node];
    if (!it->in) return;
    uint32_t *root = root_of(h, it->kind);
    *root = take(h->at, *root, node);
    it->in = false;
}

void hosts_update(struct hosts *h, const struct nodes *n, const struct gpus *g, uint32_t node) {
    struct host *it = &h->at[node];
    if (!it->in) return;
    struct hosts_span own = look(&n->at[node], g);
    if (!memcmp(&own, &it->own, sizeof(own))) return;
    it->own = own;
    refresh(h->at, *root_of(h, it->kind), node);
}

/* ---- the invariants -------------------------------------------------------------------------- */

static uint32_t count(const struct host *at, uint32_t root) {
    return root == NODES_NONE ? 0 : 1 + count(at, at[root].left) + count(at, at[root].right);
}

static const char *host_breaks(const struct hosts *h, const struct nodes *n, const struct gpus *g,
                               uint32_t node) {
    const struct host *it = &h->at[node];
    struct hosts_span own = look(&n->at[node], g), span = sum_up(h->at, it);
    if (it->in != (n->at[node].gpu_count > 1))
        return "a node is among the multi-GPU nodes and should not be, or the reverse";
    if (!it->in) return NULL;
    if (memcmp(&own, &it->own, sizeof(own)) != 0)
        return "a multi-GPU node's record of its GPUs is wrong";
    if (memcmp(&span, &it->span, sizeof(span)) != 0)
        return "a branch of the tree of multi-GPU nodes is out of date";
    return NULL;
}

const char *hosts_check(const struct hosts *h, const struct nodes *n, const struct gpus *g) {
    uint32_t in = 0, there = count(h->at, h->mixed);
    for (uint32_t i = 0; i < n->used; i++) {
        if (!n->at[i].here) continue;
        const char *broken = host_breaks(h, n, g, i);
        if (broken) return broken;
        in += h->at[i].in;
    }
    for (uint32_t k = 0; k < h->roots_count; k++)
        there += count(h->at, h->roots[k]);
    return in == there ? NULL : "the number of multi-GPU nodes is wrong";
}
