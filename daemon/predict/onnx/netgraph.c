/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/predict/onnx/netgraph.h"

#include <onnx.pb-c.h>

void netgraph_finish(struct netgraph *g) {
    for (uint32_t i = 0; i < g->values_count; i++)
        bounded_free(&g->memory, g->values[i].data);
    bounded_free(&g->memory, g->values);
    bounded_free(&g->memory, g->nodes);
    bounded_free(&g->memory, g->refs);
    bounded_free(&g->memory, g->calls);
    if (g->message) onnx__model_proto__free_unpacked(g->message, &g->memory.allocator);
    *g = (struct netgraph){0};
}

static struct value *at(const struct netgraph *g, uint32_t ref) {
    return g->refs[ref] == NETGRAPH_NONE ? NULL : &g->values[g->refs[ref]];
}

struct value *netgraph_input(const struct netgraph *g, const struct node *n, uint32_t i) {
    return i < n->inputs_count ? at(g, n->inputs + i) : NULL;
}

struct value *netgraph_output(const struct netgraph *g, const struct node *n, uint32_t i) {
    return i < n->outputs_count ? at(g, n->outputs + i) : NULL;
}

uint32_t netgraph_type_bytes(int32_t type) {
    switch (type) {
    case ONNX__TENSOR_PROTO__DATA_TYPE__UINT8:
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT8:
    case ONNX__TENSOR_PROTO__DATA_TYPE__BOOL: return 1;
    case ONNX__TENSOR_PROTO__DATA_TYPE__UINT16:
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT16:
    case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16:
    case ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16: return 2;
    case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT:
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT32:
    case ONNX__TENSOR_PROTO__DATA_TYPE__UINT32: return 4;
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT64:
    case ONNX__TENSOR_PROTO__DATA_TYPE__UINT64:
    case ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE:
    case ONNX__TENSOR_PROTO__DATA_TYPE__COMPLEX64: return 8;
    case ONNX__TENSOR_PROTO__DATA_TYPE__COMPLEX128: return 16;
    default: return 0;
    }
}
