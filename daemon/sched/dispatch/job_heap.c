/* SPDX-License-Identifier: Apache-2.0
 *
 * A pairing heap whose links are in the jobs.
 */
#include "daemon/sched/dispatch/job_heap.h"

#include "daemon/sched/state.h"

/* The only place that defines the order, inlined for speed. */
static inline bool before(const struct order_node *a, const struct order_node *b) {
    if (a->priority != b->priority) return a->priority > b->priority;
    if (a->rank != b->rank) return a->rank < b->rank;
    return a->arrival < b->arrival;
}

bool job_heap_before(const struct order_node *a, const struct order_node *b) {
    return before(a, b);
}

/* Joins two trees, of which either may be empty. */
static inline uint32_t meld(struct sched_job *jobs, uint32_t a, uint32_t b) {
    if (a == JOB_HEAP_NONE) return b;
    if (b == JOB_HEAP_NONE) return a;
    if (before(&jobs[b].node, &jobs[a].node)) {
        uint32_t swap = a;
        a = b;
        b = swap;
    }
    struct order_node *top = &jobs[a].node, *low = &jobs[b].node;
    low->prev = a;
    low->next = top->child;
    if (top->child != JOB_HEAP_NONE) jobs[top->child].node.prev = b;
    top->child = b;
    top->next = top->prev = JOB_HEAP_NONE;
    return a;
}

/* Joins the children of a removed node into one tree: in pairs from left to right, then all from
 * right to left. */
static uint32_t join_pairs(struct sched_job *jobs, uint32_t first) {
    uint32_t pairs = JOB_HEAP_NONE, whole = JOB_HEAP_NONE;
    while (first != JOB_HEAP_NONE) {
        uint32_t a = first, b = jobs[a].node.next;
        first = b == JOB_HEAP_NONE ? JOB_HEAP_NONE : jobs[b].node.next;
        jobs[a].node.next = JOB_HEAP_NONE;
        if (b != JOB_HEAP_NONE) jobs[b].node.next = JOB_HEAP_NONE;
        uint32_t pair = meld(jobs, a, b);
        jobs[pair].node.next = pairs;
        pairs = pair;
    }
    while (pairs != JOB_HEAP_NONE) {
        uint32_t next = jobs[pairs].node.next;
        jobs[pairs].node.next = JOB_HEAP_NONE;
        whole = meld(jobs, whole, pairs);
        pairs = next;
    }
    if (whole != JOB_HEAP_NONE) jobs[whole].node.prev = jobs[whole].node.next = JOB_HEAP_NONE;
    return whole;
}

void job_heap_put(struct sched_job *jobs, uint32_t *root, uint32_t job) {
    struct order_node *n = &jobs[job].node;
    n->child = n->next = n->prev = JOB_HEAP_NONE;
    n->in = true;
    *root = meld(jobs, *root, job);
}

void job_heap_take(struct sched_job *jobs, uint32_t *root, uint32_t job) {
    struct order_node *n = &jobs[job].node;
    uint32_t rest = join_pairs(jobs, n->child);
    if (*root == job) {
        *root = rest;
    } else {
        struct order_node *before = &jobs[n->prev].node;
        if (before->child == job)
            before->child = n->next;
        else
            before->next = n->next;
        if (n->next != JOB_HEAP_NONE) jobs[n->next].node.prev = n->prev;
        *root = meld(jobs, *root, rest);
    }
    n->child = n->next = n->prev = JOB_HEAP_NONE;
    n->in = false;
}
