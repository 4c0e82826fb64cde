/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything goes, in order of arrival over all jobs that have a turn, as if each had streams of
 * its own: the oldest waiting operation whose job is below its in-flight cap runs next. Two
 * baselines of the Orion paper (section 6.1) are this: streams, and temporal. An indexed heap holds
 * the jobs that have such an operation, keyed by its arrival: O(log jobs) a decision, O(1) while
 * one job is served.
 */
#include <errno.h>
#include <stdlib.h>

#include "daemon/sched/policy/policy.h"

struct streams_node {
    uint64_t key; /* arrival of the job's oldest operation that may run */
    uint32_t job;
};

struct streams {
    struct streams_node *heap;
    uint32_t *place; /* job -> index in the heap, or SCHED_NONE */
    uint32_t count, cap;
};

static void streams_set(struct streams *f, uint32_t i, struct streams_node node) {
    f->heap[i] = node;
    f->place[node.job] = i;
}

static void streams_up(struct streams *f, uint32_t i) {
    struct streams_node node = f->heap[i];
    for (; i > 0 && f->heap[(i - 1) / 2].key > node.key; i = (i - 1) / 2)
        streams_set(f, i, f->heap[(i - 1) / 2]);
    streams_set(f, i, node);
}

static void streams_down(struct streams *f, uint32_t i) {
    struct streams_node node = f->heap[i];
    for (uint32_t child; (child = 2 * i + 1) < f->count; i = child) {
        if (child + 1 < f->count && f->heap[child + 1].key < f->heap[child].key) child++;
        if (f->heap[child].key >= node.key) break;
        streams_set(f, i, f->heap[child]);
    }
    streams_set(f, i, node);
}

static void streams_remove(struct streams *f, uint32_t i) {
    f->place[f->heap[i].job] = SCHED_NONE;
    struct streams_node last = f->heap[--f->count];
    if (i == f->count) return;
    streams_set(f, i, last);
    streams_up(f, i);
    streams_down(f, f->place[last.job]);
}

/* Puts the job where its oldest runnable operation belongs, or out of the heap. */
static void streams_update(struct streams *f, const struct sched_state *st, uint32_t job) {
    uint32_t op = state_oldest(st, job), at = f->place[job];
    if (op == SCHED_NONE) {
        if (at != SCHED_NONE) streams_remove(f, at);
        return;
    }
    struct streams_node node = {st->ops[op].arrival, job};
    if (at == SCHED_NONE) {
        streams_set(f, f->count++, node);
        streams_up(f, f->count - 1);
    } else if (node.key != f->heap[at].key) {
        f->heap[at] = node;
        streams_up(f, at);
        streams_down(f, f->place[job]);
    }
}

static int streams_init(void *self, const struct sched_state *st) {
    return 0;
}

static void streams_fini(void *self) {
    struct streams *f = self;
    free(f->heap);
    free(f->place);
}

static int streams_reserve(void *self, uint32_t jobs) {
    struct streams *f = self;
    if (jobs <= f->cap) return 0;
    struct streams_node *heap = realloc(f->heap, jobs * sizeof(*heap));
    if (!heap) return -ENOMEM;
    f->heap = heap;
    uint32_t *place = realloc(f->place, jobs * sizeof(*place));
    if (!place) return -ENOMEM;
    f->place = place;
    for (uint32_t i = f->cap; i < jobs; i++)
        place[i] = SCHED_NONE;
    f->cap = jobs;
    return 0;
}

static bool streams_memory(void *self, memory_visit *visit, void *arg) {
    struct streams *f = self;
    return visit(arg, (void **)&f->heap, f->cap * sizeof(*f->heap)) &&
           visit(arg, (void **)&f->place, f->cap * sizeof(*f->place));
}

/* Whatever becomes of an operation, its job's oldest may be another one. */
static void streams_moved(void *self, const struct sched_state *st, uint32_t op) {
    streams_update(self, st, st->ops[op].job);
}

static void streams_started(void *self, const struct sched_state *st, uint32_t op) {
    streams_update(self, st, st->ops[op].job);
}

static uint32_t streams_pick(void *self, const struct sched_state *st) {
    struct streams *f = self;
    return f->count ? state_oldest(st, f->heap[0].job) : SCHED_NONE;
}

static void streams_turned(void *self, const struct sched_state *st, uint32_t job) {
    streams_update(self, st, job);
}

static const char *streams_check(const void *self, const struct sched_state *st) {
    const struct streams *f = self;
    uint32_t runnable = 0;
    for (uint32_t i = 0; i < f->count; i++) {
        const struct streams_node *n = &f->heap[i];
        uint32_t op = state_oldest(st, n->job);
        if (f->place[n->job] != i) return "streams: a job is not where its index says";
        if (op == SCHED_NONE) return "streams: a job without a runnable operation is in the heap";
        if (st->ops[op].arrival != n->key)
            return "streams: a job's key is not its oldest operation";
        if (i && f->heap[(i - 1) / 2].key > n->key) return "streams: the heap is out of order";
    }
    for (uint32_t j = 0; j < st->jobs_cap; j++)
        runnable += st->jobs[j].used && state_oldest(st, j) != SCHED_NONE;
    return runnable == f->count ? NULL : "streams: a runnable job is not in the heap";
}

#define STREAMS_HOOKS                                                                \
    .priv_size = sizeof(struct streams), .init = streams_init, .fini = streams_fini, \
    .reserve = streams_reserve, .memory = streams_memory, .enqueue = streams_moved,  \
    .dequeue = streams_moved, .started = streams_started, .pick = streams_pick,      \
    .ended = streams_moved, .turned = streams_turned, .check = streams_check

const struct policy pol_streams = {.name = "streams", STREAMS_HOOKS};

/* "Time-slices the GPU by executing one job's request at a time, while prioritizing the
 * high-priority job" (Orion, section 6.1): that is what turns do when there is one for the whole
 * device, for a higher priority gets it first. */
const struct policy pol_temporal = {.name = "temporal", .exclusive = true, STREAMS_HOOKS};
