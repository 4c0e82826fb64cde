/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the program's settings of nodes that kernels may change.
 */
#include "shim/graph_exec/node_update.h"

#include <string.h>

#include "proto/wire/wire.h"
#include "shim/connection/refuse.h"
#include "shim/connection/state.h"
#include "shim/graph/graph.h"

CUresult node_update_allow(struct params_kernel *k, CUlaunchAttributeValue *value) {
    int asked = value->deviceUpdatableKernelNode.deviceUpdatable;
    uint64_t addr = k->changing ? k->changing->addr : 0;
    CUresult r = CUDA_SUCCESS;
    if (asked != 1) return asked || k->changing ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    if (state_is_plain()) return refuse_call("a kernel node that kernels change");
    if (k->launch.flags & WIRE_LAUNCH_COOPERATIVE)
        return refuse_call("a cooperative kernel node that kernels change");
    if (!addr)
        r = condition_create(&k->changing, sizeof(struct wire_node) + k->launch.param_bytes, 0,
                             false, &addr);
    if (r) return r;
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): the handle is not a pointer of the program. */
    value->deviceUpdatableKernelNode.devNode = (CUgraphDeviceNode)(uintptr_t)addr;
    return CUDA_SUCCESS;
}

static bool is_stale(const struct params *p) {
    return p->type == CU_GRAPH_NODE_TYPE_KERNEL && p->kernel.changing && !p->kernel.written;
}

bool node_update_stale(const struct graph *g) {
    struct list *pos;
    list_each(pos, &g->nodes) {
        const struct params *p = &list_entry(pos, struct graph_node, link)->params;
        const struct graph *in;
        if (is_stale(p)) return true;
        for (uint32_t i = 0; (in = graph_inside(p, i)); i++)
            if (node_update_stale(in)) return true;
    }
    return false;
}

static void write_node(struct graph_node *n) {
    struct params_kernel *k = &n->params.kernel;
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): the host window is mapped there. */
    struct wire_node *to = (struct wire_node *)(uintptr_t)k->changing->addr;
    to->enabled = !n->disabled;
    to->kind = WIRE_NODE_KIND;
    to->param_bytes = k->launch.param_bytes;
    memcpy(to->grid, k->launch.grid, sizeof(to->grid));
    memcpy(to->params, k->values, k->launch.param_bytes);
    k->written = true;
}

void node_update_write(struct graph *g) {
    struct list *pos;
    list_each(pos, &g->nodes) {
        struct graph_node *n = list_entry(pos, struct graph_node, link);
        struct graph *in;
        if (is_stale(&n->params)) write_node(n);
        for (uint32_t i = 0; (in = graph_inside(&n->params, i)); i++)
            node_update_write(in);
    }
}
