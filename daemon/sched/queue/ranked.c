/* SPDX-License-Identifier: Apache-2.0
 *
 * A heap of jobs, with their ranks in a separate array.
 */
#include "daemon/sched/queue/ranked.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int ranked_reserve(struct ranked *r, uint32_t jobs) {
    if (jobs <= r->cap) return 0;
    struct ranked_job *grown = realloc(r->jobs, jobs * sizeof(*grown));
    if (!grown) return -ENOMEM;
    r->jobs = grown;
    uint32_t *items = realloc(r->heap.items, jobs * sizeof(*items));
    if (!items) return -ENOMEM;
    r->heap.items = items;
    uint32_t *place = realloc(r->heap.place, jobs * sizeof(*place));
    if (!place) return -ENOMEM;
    r->heap.place = place;
    for (uint32_t i = r->cap; i < jobs; i++) {
        memset(&grown[i], 0, sizeof(grown[i]));
        items[i] = place[i] = MINHEAP_NONE;
    }
    r->cap = jobs;
    return 0;
}

void ranked_finish(struct ranked *r) {
    free(r->jobs);
    free(r->heap.items);
    free(r->heap.place);
    *r = (struct ranked){0};
}

bool ranked_memory(struct ranked *r, memory_visit *visit, void *arg) {
    return visit(arg, (void **)&r->jobs, r->cap * sizeof(*r->jobs)) &&
           visit(arg, (void **)&r->heap.items, r->cap * sizeof(*r->heap.items)) &&
           visit(arg, (void **)&r->heap.place, r->cap * sizeof(*r->heap.place));
}

void ranked_clear(struct ranked *r, bool loose) {
    for (uint32_t i = 0; i < r->heap.count; i++)
        r->heap.place[r->heap.items[i]] = MINHEAP_NONE;
    r->heap.count = 0;
    r->loose = loose;
}

static inline bool before(const void *keys, uint32_t a, uint32_t b) {
    const struct ranked_job *jobs = keys;
    return jobs[a].rank != jobs[b].rank ? jobs[a].rank < jobs[b].rank : jobs[a].tie < jobs[b].tie;
}

/* Not inlined, so that a queue of one job does not pay for it. */
void ranked_settle(struct ranked *r, uint32_t at) {
    minheap_settle(&r->heap, at, before, r->jobs);
}

const char *ranked_check(const struct ranked *r) {
    const struct minheap *h = &r->heap;
    uint32_t in = 0;
    for (uint32_t i = 0; i < h->count; i++) {
        if (h->place[h->items[i]] != i) return "ranked: a job's index in the heap is wrong";
        if (i && !r->loose && before(r->jobs, h->items[i], h->items[(i - 1) / 2]))
            return "ranked: the heap is out of order";
    }
    for (uint32_t job = 0; job < r->cap; job++)
        in += h->place[job] != MINHEAP_NONE;
    return in == h->count ? NULL : "ranked: a job outside the heap has an index";
}
