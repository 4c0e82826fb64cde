/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes nodes with their numbers, in the order in which they were added; child graphs are boxes.
 */
#include "shim/graph/dot.h"

#include <inttypes.h>

#include "shim/code/function.h"
#include "shim/graph/graph_memory.h"

static const char *kind_of(CUgraphNodeType type) {
    static const char *const names[] = {
        [CU_GRAPH_NODE_TYPE_KERNEL] = "kernel",
        [CU_GRAPH_NODE_TYPE_MEMCPY] = "copy",
        [CU_GRAPH_NODE_TYPE_MEMSET] = "fill",
        [CU_GRAPH_NODE_TYPE_HOST] = "host function",
        [CU_GRAPH_NODE_TYPE_GRAPH] = "graph",
        [CU_GRAPH_NODE_TYPE_EMPTY] = "empty",
        [CU_GRAPH_NODE_TYPE_WAIT_EVENT] = "wait",
        [CU_GRAPH_NODE_TYPE_EVENT_RECORD] = "record",
        [CU_GRAPH_NODE_TYPE_MEM_ALLOC] = "allocate",
        [CU_GRAPH_NODE_TYPE_MEM_FREE] = "free",
        [CU_GRAPH_NODE_TYPE_BATCH_MEM_OP] = "memory operations",
        [CU_GRAPH_NODE_TYPE_CONDITIONAL] = "condition",
    };
    const char *name = (unsigned)type < sizeof(names) / sizeof(names[0]) ? names[type] : NULL;
    return name ? name : "?";
}

static void write_kernel_name(FILE *out, const struct params_kernel *k) {
    const struct function *f = function_find(k->function);
    fprintf(out, "\\n%s", f ? f->name : "?");
}

static void write_kernel(FILE *out, const struct params_kernel *k) {
    const struct wire_launch *l = &k->launch;
    fprintf(out, "\\n<<<%ux%ux%u, %ux%ux%u, %u>>>", l->grid[0], l->grid[1], l->grid[2], l->block[0],
            l->block[1], l->block[2], l->shared_bytes);
}

static void write_detail(FILE *out, const struct params *p) {
    const struct transfer *t = &p->copy.transfer;
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: write_kernel(out, &p->kernel); break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        fprintf(out, "\\n0x%" PRIx64 " from 0x%" PRIx64 "\\n%" PRIu64 "x%" PRIu64 "x%" PRIu64,
                t->dst, t->src, t->width, t->height, t->depth);
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        fprintf(out, "\\n0x%llx\\n%zux%zu of 0x%x", p->fill.dst, p->fill.width, p->fill.height,
                p->fill.value);
        break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        fprintf(out, "\\n0x%" PRIx64 "+%" PRIu64, p->memory->addr, p->memory->bytes);
        break;
    default: break;
    }
}

static void write_graph(FILE *out, const struct graph *g, bool detail);

static void write_box(FILE *out, const struct graph *g, bool detail) {
    fprintf(out, "subgraph \"cluster_%u\" {\n", g->id);
    write_graph(out, g, detail);
    fprintf(out, "}\n");
}

/* Writes a node's name, from the numbers that cuGraphGetId and cuGraphNodeGetLocalId return. */
static void write_name(FILE *out, const struct graph_node *n) {
    fprintf(out, "\"graph_%u_node_%u\"", n->graph->id, n->id);
}

static void write_node(FILE *out, const struct graph_node *n, bool detail) {
    write_name(out, n);
    fprintf(out, " [label=\"%s", kind_of(n->params.type));
    if (n->params.type == CU_GRAPH_NODE_TYPE_KERNEL) write_kernel_name(out, &n->params.kernel);
    if (detail) write_detail(out, &n->params);
    fprintf(out, "\"];\n");
    for (uint32_t i = 0; i < n->after.count; i++) {
        write_name(out, n);
        fprintf(out, " -> ");
        write_name(out, n->after.list[i].node);
        fprintf(out, ";\n");
    }
}

static void write_graph(FILE *out, const struct graph *g, bool detail) {
    struct list *pos;
    list_each(pos, &g->nodes) {
        const struct graph_node *n = list_entry(pos, struct graph_node, link);
        write_node(out, n, detail);
        if (n->params.type == CU_GRAPH_NODE_TYPE_GRAPH) write_box(out, n->params.child, detail);
        if (n->params.type != CU_GRAPH_NODE_TYPE_CONDITIONAL) continue;
        for (uint32_t i = 0; i < n->params.choice.count; i++)
            write_box(out, n->params.choice.bodies[i], detail);
    }
}

void dot_write(FILE *out, const struct graph *g, bool detail) {
    fprintf(out, "digraph {\nnode [shape=box];\n");
    write_graph(out, g, detail);
    fprintf(out, "}\n");
}
