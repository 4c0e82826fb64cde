/* SPDX-License-Identifier: Apache-2.0
 *
 * GPUs that may get a job, so that the best of them is found without looking at all. For each kind
 * of GPU (its memory, its curve, its node's labels and side) there are trees: a policy goes by how
 * much memory is used and by how busy a GPU is; a tree is ordered by the one, and has the GPUs of
 * which the other is about the same. Each branch knows the least and the most that is in it, so
 * that a search (search.h) leaves out whole branches. Trees are treaps whose ranks come from the
 * order in which GPUs came, so that nothing depends on names.
 *
 * Of each tree there are two: GPUs for everybody, and GPUs that are kept for one job (keep.h).
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
    enum place_kind side; /* policy separate: for whom it is */
};

#define INDEX_SHELVES 12u
#define INDEX_TREES (2 * INDEX_SHELVES) /* 2 * shelf: for everybody; and one more: kept */

struct index_trees {
    struct index_kind kind;
    uint32_t roots[INDEX_TREES]; /* GPUS_NONE: empty */
};

struct index {
    struct index_trees *kinds;
    uint32_t count, capacity;
};

void index_finish(struct index *x);
/* So many more kinds. 0 or -ENOMEM. */
int index_reserve(struct index *x, uint64_t more);

/* The number of a kind, which is a new one where it was not there; room must be reserved. */
uint32_t index_kind(struct index *x, const struct index_kind *kind);

/* Into a tree, by `key`; it must be in none. `shelf`: below INDEX_SHELVES. */
void index_add(struct index *x, struct gpus *g, uint32_t gpu, uint32_t shelf, bool kept,
               uint64_t key);
/* Out of its tree; before anything changes of what the tree knows of it. */
void index_remove(struct index *x, struct gpus *g, uint32_t gpu);
/* Its node has more or less to give. */
void index_refresh(struct index *x, struct gpus *g, uint32_t gpu);

/* Of no GPU; of one; of both. */
struct gpus_span index_span_none(void);
struct gpus_span index_span_of(const struct gpu *gpu);
void index_span_widen(struct gpus_span *a, const struct gpus_span *b);

/* NULL, or what does not hold. */
const char *index_check(const struct index *x, const struct gpus *g);

#endif
