/* SPDX-License-Identifier: Apache-2.0
 *
 * A heap of jobs, their ranks beside it.
 */
#include "daemon/sched/queue/ranked.h"

#include <errno.h>
#include <stdlib.h>

static bool before(const void *keys, uint32_t a, uint32_t b) {
    const uint64_t *rank = keys;
    return rank[a] < rank[b];
}

int ranked_reserve(struct ranked *r, uint32_t jobs) {
    if (jobs <= r->cap) return 0;
    uint64_t *rank = realloc(r->rank, jobs * sizeof(*rank));
    if (!rank) return -ENOMEM;
    r->rank = rank;
    uint32_t *items = realloc(r->heap.items, jobs * sizeof(*items));
    if (!items) return -ENOMEM;
    r->heap.items = items;
    uint32_t *place = realloc(r->heap.place, jobs * sizeof(*place));
    if (!place) return -ENOMEM;
    r->heap.place = place;
    for (uint32_t i = r->cap; i < jobs; i++) {
        rank[i] = 0;
        items[i] = place[i] = MINHEAP_NONE;
    }
    r->cap = jobs;
    return 0;
}

void ranked_finish(struct ranked *r) {
    free(r->rank);
    free(r->heap.items);
    free(r->heap.place);
    *r = (struct ranked){0};
}

bool ranked_memory(struct ranked *r, memory_visit *visit, void *arg) {
    return visit(arg, (void **)&r->rank, r->cap * sizeof(*r->rank)) &&
           visit(arg, (void **)&r->heap.items, r->cap * sizeof(*r->heap.items)) &&
           visit(arg, (void **)&r->heap.place, r->cap * sizeof(*r->heap.place));
}

void ranked_clear(struct ranked *r) {
    for (uint32_t i = 0; i < r->heap.count; i++)
        r->heap.place[r->heap.items[i]] = MINHEAP_NONE;
    r->heap.count = 0;
}

void ranked_put(struct ranked *r, uint32_t job, uint64_t rank) {
    uint32_t at = r->heap.place[job];
    if (at == MINHEAP_NONE) {
        r->rank[job] = rank;
        minheap_add(&r->heap, job, before, r->rank);
    } else if (rank != r->rank[job]) {
        r->rank[job] = rank;
        minheap_settle(&r->heap, at, before, r->rank);
    }
}

void ranked_take(struct ranked *r, uint32_t job) {
    minheap_remove(&r->heap, r->heap.place[job], before, r->rank);
}

const char *ranked_check(const struct ranked *r) {
    const struct minheap *h = &r->heap;
    uint32_t in = 0;
    for (uint32_t i = 0; i < h->count; i++) {
        if (h->place[h->items[i]] != i) return "ranked: a job is not where its index says";
        if (i && before(r->rank, h->items[i], h->items[(i - 1) / 2]))
            return "ranked: the heap is out of order";
    }
    for (uint32_t job = 0; job < r->cap; job++)
        in += h->place[job] != MINHEAP_NONE;
    return in == h->count ? NULL : "ranked: a job that is not in the heap has a place";
}
