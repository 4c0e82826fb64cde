/* SPDX-License-Identifier: Apache-2.0
 *
 * The nodes on which the next node of a captured stream depends, each once, with the data of the
 * edges from them. They are stored by handle, since the program may destroy them meanwhile. Owner:
 * the captured stream. The caller holds graph_lock.
 */
#ifndef SHIM_CAPTURE_TAIL_H
#define SHIM_CAPTURE_TAIL_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/cuda/cuda_abi.h"

struct tail {
    CUgraphNode *list;
    CUgraphEdgeData *data;
    size_t count;
};

/* Adds nodes. `data` NULL: default edges. CUDA_ERROR_OUT_OF_MEMORY: the tail is unchanged. */
CUresult tail_add(struct tail *t, const CUgraphNode *list, const CUgraphEdgeData *data,
                  size_t count);
/* Adds the nodes of an event that was recorded behind all of them. */
CUresult tail_wait(struct tail *t, const CUgraphNode *list, CUgraphEdgeData data, size_t count);
/* Makes programmatic edges default edges, for a next node that is no kernel: only kernels can begin
 * before another one ends. */
void tail_make_plain(struct tail *t);
/* Removes nodes that the program has destroyed since. */
void tail_tidy(struct tail *t);
/* Lets the next node begin before the tail's kernels end, where their edges have default data. */
void tail_begin_early(struct tail *t);
/* True when all edges have default data. */
bool tail_is_plain(const struct tail *t);
/* Empties the tail. */
void tail_free(struct tail *t);

#endif
