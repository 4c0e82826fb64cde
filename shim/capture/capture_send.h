/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations that are sent to a captured stream (stream_captured): each becomes a node of the graph
 * that is being captured.
 */
#ifndef SHIM_CAPTURE_CAPTURE_SEND_H
#define SHIM_CAPTURE_CAPTURE_SEND_H

#include "shim/capture/capture.h"

CUresult capture_send_copy(struct stream *s, const struct transfer *t, unsigned int flags);
CUresult capture_send_fill(struct stream *s, const struct fill *f);
CUresult capture_send_values(struct stream *s, unsigned int count, CUstreamBatchMemOpParams *ops);
CUresult capture_send_host(struct stream *s, const CUDA_HOST_NODE_PARAMS *host);
/* capture_send_allocate adds a node that allocates `m` and takes over the caller's hold of it, also
 * on failure. capture_send_free adds a node that frees the memory which begins at `addr`;
 * CUDA_ERROR_INVALID_VALUE: no graph allocates it. */
CUresult capture_send_allocate(struct stream *s, struct graph_memory *m);
CUresult capture_send_free(struct stream *s, uint64_t addr);

#endif
