/* SPDX-License-Identifier: Apache-2.0
 *
 * Index of the GPUs that may take a job; finds the best one without scanning all. Each kind of GPU
 * (memory, curve, its node's labels and side) has several trees, called shelves. A policy uses a
 * GPU's memory usage and its utilisation: one orders the tree; GPUs on one shelf have about the
 * same of the other. Each branch stores minima and maxima, so that a search (search.h) skips whole
 * branches. Trees are treaps whose ranks derive from the order of arrival, so that names have no
 * influence.
 *
 * Each tree exists twice: for open GPUs, and for GPUs reserved for one job (node_reservation.h).
 *
 * Owner: struct place. Thread: its owner's.
 */
#ifndef DAEMON_PLACE_STATE_INDEX_H
#define DAEMON_PLACE_STATE_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/place/state/gpus.h"

struct index_kind {
    uint64_t memory_bytes, labels;
    uint32_t curve;
    enum place_kind side; /* policy separate: the kind of the jobs that may use these GPUs */
};

#define INDEX_SHELVES 12u
/* 2 * shelf for open GPUs; 2 * shelf + 1 for reserved GPUs. */
#define INDEX_TREES (2 * INDEX_SHELVES)

struct index_trees {
    struct index_kind kind;
    uint32_t roots[INDEX_TREES]; /* GPUS_NONE: empty */
};

struct index {
    struct index_trees *kinds;
    uint32_t count, capacity;
};

void index_finish(struct index *x);
/* Reserves memory for this many more kinds. Returns 0 or -ENOMEM. */
int index_reserve(struct index *x, uint64_t more);

/* The number of a kind, added if new; memory must be reserved. */
uint32_t index_kind(struct index *x, const struct index_kind *kind);

/* Adds a GPU, which is in no tree, ordered by `key`. `shelf`: below INDEX_SHELVES. */
void index_add(struct index *x, struct gpus *g, uint32_t gpu, uint32_t shelf, bool kept,
               uint64_t key);
/* Removes a GPU from its tree. Must be called before any value changes that the tree uses. */
void index_remove(struct index *x, struct gpus *g, uint32_t gpu);
/* Called when the free resources of the GPU's node changed. */
void index_refresh(struct index *x, struct gpus *g, uint32_t gpu);

/* Summary of no GPU, of one GPU, and the union of two summaries. */
struct gpus_span index_span_none(void);
struct gpus_span index_span_of(const struct gpu *gpu);
void index_span_widen(struct gpus_span *a, const struct gpus_span *b);

/* NULL, or a violated invariant. */
const char *index_check(const struct index *x, const struct gpus *g);

#endif
