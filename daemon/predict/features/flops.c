/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/predict/features/flops.h"
#include "daemon/predict/shape/op_matrix.h"

struct work {
    struct netgraph *g;
    const struct node *n;
    const struct op *op;
};

/* NULL if the input is missing or its shape is not known. */
static const struct shape *in(const struct work *w, uint32_t i) {
    const struct value *v = netgraph_input(w->g, w->n, i);

    return v && v->shape.known ? &v->shape : NULL;
}

static double elements(const struct shape *s) {
    return s ? (double)shape_elements(s) : 0;
}

static double out_elements(const struct work *w) {
    const struct value *v = netgraph_output(w->g, w->n, 0);

    return v && v->shape.known ? elements(&v->shape) : 0;
}

/* Each output element of a convolution is a sum over its kernel and the channels of its group. */
static double conv(const struct work *w) {
    const struct shape *k = in(w, 1);
    double out = out_elements(w);

    if (!k) return 0;
    return out * w->op->per_element * (double)shape_part(k, 1, k->rank) + (in(w, 2) ? out : 0);
}

/* Each input element is spread over a kernel and the outputs of its group. */
static double convtranspose(const struct work *w) {
    const struct shape *x = in(w, 0), *k = in(w, 1);

    if (!x || !k) return 0;
    return elements(x) * w->op->per_element * (double)shape_part(k, 1, k->rank) +
           (in(w, 2) ? out_elements(w) : 0);
}

#define WIDEST ((int64_t)1 << 40) /* the limit that shape inference uses */

/* Returns 0 for an invalid kernel: if the shape comes from the file, shape inference has not
 * checked the kernel. */
static double pool(const struct work *w) {
    uint32_t count;
    const int64_t *kernel = attribute_ints(w->n, "kernel_shape", &count);
    double window = 1;

    if (count > SHAPE_RANK_MAX) return 0;
    for (uint32_t i = 0; i < count; i++) {
        if (kernel[i] < 1 || kernel[i] > WIDEST) return 0;
        window *= (double)kernel[i];
    }
    return out_elements(w) * window;
}

/* Each output element is a sum over the last axis of the left side. */
static double gemm(const struct work *w) {
    const struct shape *a = in(w, 0);
    double out = out_elements(w), inner;

    if (!a || a->rank < 2) return 0;
    inner = (double)a->dim[attribute_int(w->n, "transA", 0) ? 0 : 1];
    return out * w->op->per_element * inner + (in(w, 2) ? out : 0);
}

static double matmul(const struct work *w) {
    const struct shape *a = in(w, 0);

    if (!a || a->rank == 0) return 0;
    return out_elements(w) * w->op->per_element * (double)a->dim[a->rank - 1];
}

/* Per step, sequence and direction: two products for each gate, and some operations for the
 * cell. */
static double recurrent(const struct work *w) {
    const struct shape *x = in(w, 0), *k = in(w, 1), *r = in(w, 2);
    double steps, per_step;

    if (!x || !k || !r || x->rank != 3 || k->rank != 3 || r->rank != 3) return 0;
    steps = (double)x->dim[0] * (double)x->dim[1];
    per_step = 2 * (elements(k) + elements(r)) + 8 * (double)r->dim[2];
    return steps * per_step;
}

static double einsum(const struct work *w) {
    struct op_call c = {.g = w->g, .n = w->n};
    double terms;

    return op_einsum_work(&c, &terms) ? terms * w->op->per_element : 0;
}

double flops_node(struct netgraph *g, const struct node *n, const struct op *op) {
    struct work w = {g, n, op};

    switch (op->work) {
    case OPS_ELEMENT: return out_elements(&w) * op->per_element;
    case OPS_INPUT: return elements(in(&w, 0)) * op->per_element;
    case OPS_POOL: return pool(&w);
    case OPS_CONV: return conv(&w);
    case OPS_CONVTRANSPOSE: return convtranspose(&w);
    case OPS_GEMM: return gemm(&w);
    case OPS_MATMUL: return matmul(&w);
    case OPS_EINSUM: return einsum(&w);
    case OPS_RECURRENT: return recurrent(&w);
    case OPS_NONE: break;
    }
    return 0;
}
