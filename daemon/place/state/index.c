/* SPDX-License-Identifier: Apache-2.0
 *
 * Treaps that use links in the GPUs, so that nothing is allocated. The depth is about twice the
 * logarithm of the size.
 */
#include "daemon/place/state/index.h"

#include <stdlib.h>
#include <string.h>

#include "common/slotmap.h"
#include "daemon/place/state/place_growth.h"

#define SEED 0x9e3779b97f4a7c15ull

void index_finish(struct index *x) {
    free(x->kinds);
}

int index_reserve(struct index *x, uint64_t more) {
    int err = 0;
    x->kinds = place_growth_for(x->kinds, &x->capacity, x->count + more, sizeof(*x->kinds), &err);
    return err;
}

static bool same(const struct index_kind *a, const struct index_kind *b) {
    return a->memory_bytes == b->memory_bytes && a->labels == b->labels && a->curve == b->curve &&
           a->side == b->side;
}

uint32_t index_kind(struct index *x, const struct index_kind *kind) {
    for (uint32_t i = 0; i < x->count; i++)
        if (same(&x->kinds[i].kind, kind)) return i;
    x->kinds[x->count].kind = *kind;
    for (uint32_t t = 0; t < INDEX_TREES; t++)
        x->kinds[x->count].roots[t] = GPUS_NONE;
    return x->count++;
}

/* ---- summaries of branches ------------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

struct gpus_span index_span_none(void) {
    return (struct gpus_span){.least_bytes = UINT64_MAX,
                              .least_persistent_bytes = UINT64_MAX,
                              .least_ppm = UINT64_MAX,
                              .first = UINT64_MAX};
}

struct gpus_span index_span_of(const struct gpu *gpu) {
    uint64_t bytes = gpus_bytes(&gpu->use);
    return (struct gpus_span){.least_bytes = bytes,
                              .most_bytes = bytes,
                              .least_persistent_bytes = gpu->use.persistent_bytes,
                              .least_ppm = gpu->use.util_ppm,
                              .most_ppm = gpu->use.util_ppm,
                              .most_room_ppm = gpu->room_ppm,
                              .some_ppm = (uint64_t)1 << gpus_some_bit(gpu->use.util_ppm),
                              .most_cpu_milli = gpu->cpu_milli,
                              .most_memory_bytes = gpu->node_bytes,
                              .first = gpu->turn};
}

void index_span_widen(struct gpus_span *a, const struct gpus_span *b) {
    a->least_bytes = least(a->least_bytes, b->least_bytes);
    a->most_bytes = most(a->most_bytes, b->most_bytes);
    a->least_persistent_bytes = least(a->least_persistent_bytes, b->least_persistent_bytes);
    a->least_ppm = least(a->least_ppm, b->least_ppm);
    a->most_ppm = most(a->most_ppm, b->most_ppm);
    a->some_ppm |= b->some_ppm;
    a->most_room_ppm = most(a->most_room_ppm, b->most_room_ppm);
    a->most_cpu_milli = most(a->most_cpu_milli, b->most_cpu_milli);
    a->most_memory_bytes = most(a->most_memory_bytes, b->most_memory_bytes);
    a->first = least(a->first, b->first);
}

static struct gpus_span sum_up(const struct gpu *at, const struct gpu *gpu) {
    struct gpus_span span = index_span_of(gpu);
    if (gpu->left != GPUS_NONE) index_span_widen(&span, &at[gpu->left].span);
    if (gpu->right != GPUS_NONE) index_span_widen(&span, &at[gpu->right].span);
    return span;
}

static void pull(struct gpu *at, uint32_t gpu) {
    at[gpu].span = sum_up(at, &at[gpu]);
}

/* ---- treaps ---------------------------------------------------------------------------------- */

static bool goes_before(const struct gpu *a, const struct gpu *b) {
    return a->key != b->key ? a->key < b->key : a->turn < b->turn;
}

/* Splits a tree into the GPUs before `gpu` and those after it. */
static void split(struct gpu *at, uint32_t root, uint32_t gpu, uint32_t *before, uint32_t *behind) {
    if (root == GPUS_NONE) {
        *before = *behind = GPUS_NONE;
        return;
    }
    if (goes_before(&at[root], &at[gpu])) {
        split(at, at[root].right, gpu, &at[root].right, behind);
        *before = root;
    } else {
        split(at, at[root].left, gpu, before, &at[root].left);
        *behind = root;
    }
    pull(at, root);
}

static uint32_t join(struct gpu *at, uint32_t before, uint32_t behind) {
    if (before == GPUS_NONE) return behind;
    if (behind == GPUS_NONE) return before;
    if (at[before].rank > at[behind].rank) {
        at[before].right = join(at, at[before].right, behind);
        pull(at, before);
        return before;
    }
    at[behind].left = join(at, before, at[behind].left);
    pull(at, behind);
    return behind;
}

static uint32_t put(struct gpu *at, uint32_t root, uint32_t gpu) {
    if (root == GPUS_NONE || at[gpu].rank > at[root].rank) {
        split(at, root, gpu, &at[gpu].left, &at[gpu].right);
        pull(at, gpu);
        return gpu;
    }
    index_span_widen(&at[root].span, &at[gpu].span);
    if (goes_before(&at[gpu], &at[root]))
        at[root].left = put(at, at[root].left, gpu);
    else
        at[root].right = put(at, at[root].right, gpu);
    return root;
}

static uint32_t take(struct gpu *at, uint32_t root, uint32_t gpu) {
    if (root == gpu) return join(at, at[gpu].left, at[gpu].right);
    if (goes_before(&at[gpu], &at[root]))
        at[root].left = take(at, at[root].left, gpu);
    else
        at[root].right = take(at, at[root].right, gpu);
    pull(at, root);
    return root;
}

/* Returns true if the branch's summary changed, so that parents must be updated. */
static bool refresh(struct gpu *at, uint32_t root, uint32_t gpu) {
    uint32_t next = goes_before(&at[gpu], &at[root]) ? at[root].left : at[root].right;
    if (root != gpu && !refresh(at, next, gpu)) return false;
    struct gpus_span span = sum_up(at, &at[root]);
    if (!memcmp(&span, &at[root].span, sizeof(span))) return false;
    at[root].span = span;
    return true;
}

static uint32_t *root_of(struct index *x, const struct gpu *gpu) {
    return &x->kinds[gpu->kind].roots[gpu->tree];
}

void index_add(struct index *x, struct gpus *g, uint32_t gpu, uint32_t shelf, bool kept,
               uint64_t key) {
    struct gpu *it = &g->at[gpu];
    it->tree = 2 * shelf + kept;
    it->key = key;
    it->rank = (uint32_t)slotmap_hash_word(it->turn, SEED);
    it->span = index_span_of(it);
    *root_of(x, it) = put(g->at, *root_of(x, it), gpu);
}

void index_remove(struct index *x, struct gpus *g, uint32_t gpu) {
    struct gpu *it = &g->at[gpu];
    *root_of(x, it) = take(g->at, *root_of(x, it), gpu);
    it->tree = GPUS_NONE;
}

void index_refresh(struct index *x, struct gpus *g, uint32_t gpu) {
    refresh(g->at, *root_of(x, &g->at[gpu]), gpu);
}

/* ---- the invariants -------------------------------------------------------------------------- */

static const char *branch_breaks(const struct gpu *at, uint32_t root, uint32_t tree) {
    if (root == GPUS_NONE) return NULL;
    const struct gpu *gpu = &at[root];
    struct gpus_span span = sum_up(at, gpu);
    if (gpu->tree != tree) return "a GPU is in another tree than it says";
    if (memcmp(&span, &gpu->span, sizeof(span)) != 0)
        return "a branch's summary of its GPUs is wrong";
    if (gpu->left != GPUS_NONE &&
        (!goes_before(&at[gpu->left], gpu) || at[gpu->left].rank > gpu->rank))
        return "a tree is out of order";
    if (gpu->right != GPUS_NONE &&
        (goes_before(&at[gpu->right], gpu) || at[gpu->right].rank > gpu->rank))
        return "a tree is out of order";
    const char *broken = branch_breaks(at, gpu->left, tree);
    return broken ? broken : branch_breaks(at, gpu->right, tree);
}

const char *index_check(const struct index *x, const struct gpus *g) {
    const char *broken = NULL;
    for (uint32_t i = 0; i < x->count * INDEX_TREES && !broken; i++)
        broken =
            branch_breaks(g->at, x->kinds[i / INDEX_TREES].roots[i % INDEX_TREES], i % INDEX_TREES);
    return broken;
}
