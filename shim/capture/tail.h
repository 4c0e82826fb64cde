/* SPDX-License-Identifier: Apache-2.0
 *
 * The nodes behind which the next one of a captured stream comes: by handle, since the program may
 * destroy them meanwhile, and with the data of the edges from them. Each is there once. Owner: the
 * captured stream. With graph_lock held.
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

/* `data` NULL: default edges. CUDA_ERROR_OUT_OF_MEMORY: the tail is as it was. */
CUresult tail_add(struct tail *t, const CUgraphNode *list, const CUgraphEdgeData *data,
                  size_t count);
/* The same for an event that was recorded behind all of these. */
CUresult tail_wait(struct tail *t, const CUgraphNode *list, CUgraphEdgeData data, size_t count);
/* Only a kernel can begin before another ends: the next node is none. */
void tail_make_plain(struct tail *t);
/* Nodes that the program has destroyed since are no more to be waited for. */
void tail_tidy(struct tail *t);
/* The next node may begin before kernels in it end, where the edges from them say nothing else. */
void tail_begin_early(struct tail *t);
/* The data of the edges say nothing. */
bool tail_is_plain(const struct tail *t);
/* Empty afterwards. */
void tail_free(struct tail *t);

#endif
