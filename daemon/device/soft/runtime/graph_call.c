/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches of graphs by kernels, lane by lane. The worker decides what may be launched and when
 * (launch_config.launch_graph). This file only reads the stream, which is no real stream but
 * selects the kind of launch.
 */
#include "daemon/device/soft/runtime/graph_call.h"

#include <errno.h>

#include "daemon/device/soft/launch/block_state.h"
#include "daemon/device/soft/runtime/native_call.h"
#include "daemon/device/soft/runtime/runtime.h"

#define STREAM_SHIFT 56 /* the top byte is 1 for cudaStreamGraphTailLaunch, and so on */

static enum runtime_error launch_one(const struct launch_config *g, uint64_t handle,
                                     uint64_t stream) {
    uint64_t how = stream >> STREAM_SHIFT;
    if (!g->graph || !g->launch_graph || how << STREAM_SHIFT != stream || how < DEV_GRAPH_TAIL ||
        how > DEV_GRAPH_SIBLING)
        return RUNTIME_INVALID_VALUE;
    switch (g->launch_graph(g->space, g->graph, handle, (enum dev_graph_order)how)) {
    case 0: return RUNTIME_SUCCESS;
    case -EAGAIN: return RUNTIME_PENDING_COUNT;
    default: return RUNTIME_INVALID_VALUE;
    }
}

/* (graph, stream) */
void graph_call(struct warp *w, const struct code_inst *i, uint32_t mask) {
    struct warp_ctx *x = (struct warp_ctx *)w;
    for (uint32_t left = mask; left; left &= left - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(left);
        enum runtime_error err = launch_one(x->block->config, native_argument(x, i, lane, 0),
                                            native_argument(x, i, lane, 1));
        if (err) x->last_error[lane] = (uint16_t)err;
        native_result(x, i, lane, err);
    }
}
