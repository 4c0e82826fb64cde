/* SPDX-License-Identifier: Apache-2.0
 *
 * First come, first served over all jobs: the oldest waiting operation whose job is below its
 * in-flight cap runs next. An indexed heap holds the jobs that have such an operation, keyed by its
 * arrival: O(log jobs) a decision, O(1) while one job is served.
 */
#include <errno.h>
#include <stdlib.h>

#include "daemon/sched/policy.h"

struct fifo_node {
    uint64_t key; /* arrival of the job's oldest operation that may run */
    uint32_t job;
};

struct fifo {
    struct fifo_node *heap;
    uint32_t *place; /* job -> index in the heap, or SCHED_NONE */
    uint32_t count, cap;
};

static uint32_t fifo_oldest(const struct sched_state *st, uint32_t job) {
    uint32_t a = state_runnable(st, job, SCHED_UNCOUNTED);
    uint32_t b = state_runnable(st, job, SCHED_COUNTED);
    if (a == SCHED_NONE) return b;
    if (b == SCHED_NONE) return a;
    return st->ops[a].arrival < st->ops[b].arrival ? a : b;
}

static void fifo_set(struct fifo *f, uint32_t i, struct fifo_node node) {
    f->heap[i] = node;
    f->place[node.job] = i;
}

static void fifo_up(struct fifo *f, uint32_t i) {
    struct fifo_node node = f->heap[i];
    for (; i > 0 && f->heap[(i - 1) / 2].key > node.key; i = (i - 1) / 2)
        fifo_set(f, i, f->heap[(i - 1) / 2]);
    fifo_set(f, i, node);
}

static void fifo_down(struct fifo *f, uint32_t i) {
    struct fifo_node node = f->heap[i];
    for (uint32_t child; (child = 2 * i + 1) < f->count; i = child) {
        if (child + 1 < f->count && f->heap[child + 1].key < f->heap[child].key) child++;
        if (f->heap[child].key >= node.key) break;
        fifo_set(f, i, f->heap[child]);
    }
    fifo_set(f, i, node);
}

static void fifo_remove(struct fifo *f, uint32_t i) {
    f->place[f->heap[i].job] = SCHED_NONE;
    struct fifo_node last = f->heap[--f->count];
    if (i == f->count) return;
    fifo_set(f, i, last);
    fifo_up(f, i);
    fifo_down(f, f->place[last.job]);
}

/* Puts the job where its oldest runnable operation belongs, or out of the heap. */
static void fifo_update(struct fifo *f, const struct sched_state *st, uint32_t job) {
    uint32_t op = fifo_oldest(st, job), at = f->place[job];
    if (op == SCHED_NONE) {
        if (at != SCHED_NONE) fifo_remove(f, at);
        return;
    }
    struct fifo_node node = {st->ops[op].arrival, job};
    if (at == SCHED_NONE) {
        fifo_set(f, f->count++, node);
        fifo_up(f, f->count - 1);
    } else if (node.key != f->heap[at].key) {
        f->heap[at] = node;
        fifo_up(f, at);
        fifo_down(f, f->place[job]);
    }
}

static int fifo_init(void *self, const struct sched_state *st) {
    return 0;
}

static void fifo_fini(void *self) {
    struct fifo *f = self;
    free(f->heap);
    free(f->place);
}

static int fifo_reserve(void *self, uint32_t jobs) {
    struct fifo *f = self;
    if (jobs <= f->cap) return 0;
    struct fifo_node *heap = realloc(f->heap, jobs * sizeof(*heap));
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

static void fifo_enqueue(void *self, const struct sched_state *st, uint32_t op) {
    fifo_update(self, st, st->ops[op].job);
}

static void fifo_dequeue(void *self, const struct sched_state *st, uint32_t op) {
    fifo_update(self, st, st->ops[op].job);
}

static uint32_t fifo_pick(void *self, const struct sched_state *st) {
    struct fifo *f = self;
    return f->count ? fifo_oldest(st, f->heap[0].job) : SCHED_NONE;
}

static void fifo_ran(void *self, const struct sched_state *st, uint32_t job, uint64_t busy_ns) {
    fifo_update(self, st, job);
}

static const char *fifo_check(const void *self, const struct sched_state *st) {
    const struct fifo *f = self;
    uint32_t runnable = 0;
    for (uint32_t i = 0; i < f->count; i++) {
        const struct fifo_node *n = &f->heap[i];
        uint32_t op = fifo_oldest(st, n->job);
        if (f->place[n->job] != i) return "fifo: a job is not where its index says";
        if (op == SCHED_NONE) return "fifo: a job without a runnable operation is in the heap";
        if (st->ops[op].arrival != n->key) return "fifo: a job's key is not its oldest operation";
        if (i && f->heap[(i - 1) / 2].key > n->key) return "fifo: the heap is out of order";
    }
    for (uint32_t j = 0; j < st->jobs_cap; j++)
        runnable += st->jobs[j].used && fifo_oldest(st, j) != SCHED_NONE;
    return runnable == f->count ? NULL : "fifo: a runnable job is not in the heap";
}

const struct policy pol_fifo = {
    .name = "fifo",
    .priv_size = sizeof(struct fifo),
    .init = fifo_init,
    .fini = fifo_fini,
    .reserve = fifo_reserve,
    .enqueue = fifo_enqueue,
    .dequeue = fifo_dequeue,
    .pick = fifo_pick,
    .ran = fifo_ran,
    .check = fifo_check,
};
