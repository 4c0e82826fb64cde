/* SPDX-License-Identifier: Apache-2.0
 *
 * Shape functions of element-wise operators.
 */
#include "daemon/predict/shape/op_simple.h"

bool op_same(struct op_call *c) {
    const struct shape *x = op_in(c, 0);

    return x && op_out(c, 0, x, OP_TYPE_SAME);
}

bool op_unknown(struct op_call *c) {
    return false;
}

bool op_test(struct op_call *c) {
    const struct shape *x = op_in(c, 0);

    return x && op_out(c, 0, x, OP_TYPE_BOOL);
}

bool op_cast(struct op_call *c) {
    const struct shape *x = op_in(c, 0);
    int64_t to = attribute_int(c->n, "to", 0);

    return x && to > 0 && to < 64 && op_out(c, 0, x, (int32_t)to);
}

bool op_castlike(struct op_call *c) {
    const struct shape *x = op_in(c, 0);

    return x && op_out(c, 0, x, op_type(c, 1));
}

bool op_dequantize(struct op_call *c) {
    const struct shape *x = op_in(c, 0);

    return x && op_out(c, 0, x, OP_TYPE_FLOAT);
}

bool op_quantize(struct op_call *c) {
    const struct shape *x = op_in(c, 0);

    return x && op_out(c, 0, x, op_has(c, 2) ? op_type(c, 2) : 2 /* UINT8 */);
}

/* The second output is the mask of the kept elements. */
bool op_dropout(struct op_call *c) {
    const struct shape *x = op_in(c, 0);

    return x && op_out(c, 0, x, OP_TYPE_SAME) && op_out(c, 1, x, OP_TYPE_BOOL);
}

/* In training mode, further outputs are the mean and the variance. */
bool op_batchnorm(struct op_call *c) {
    const struct shape *x = op_in(c, 0), *mean = op_in(c, 3);
    bool known = x && op_out(c, 0, x, OP_TYPE_SAME);

    for (uint32_t i = 1; known && mean && i < c->n->outputs_count; i++)
        known = op_out(c, i, mean, op_type(c, 3));
    return known;
}

/* The further outputs are the mean and the inverse deviation of each normalised group. */
bool op_layernorm(struct op_call *c) {
    const struct shape *x = op_in(c, 0);
    struct shape s;
    uint32_t axis;

    if (!x || !op_axis(attribute_int(c->n, "axis", -1), x->rank, &axis)) return false;
    s = *x;
    for (uint32_t i = axis; i < s.rank; i++)
        s.dim[i] = 1;
    return op_out(c, 0, x, OP_TYPE_SAME) && op_out(c, 1, &s, OP_TYPE_FLOAT) &&
           op_out(c, 2, &s, OP_TYPE_FLOAT);
}

static bool all_broadcast(struct op_call *c, uint32_t from, struct shape *s) {
    const struct shape *x = op_in(c, from);

    if (!x) return false;
    *s = *x;
    /* Before opset 7, the second input was stretched to the first's sizes, starting at an axis. */
    if (attribute_is(c->n, "broadcast")) return true;
    for (uint32_t i = from + 1; i < c->n->inputs_count; i++) {
        x = op_in(c, i);
        if (!x || !op_broadcast(s, x, s)) return false;
    }
    return true;
}

bool op_elementwise(struct op_call *c) {
    struct shape s;

    return all_broadcast(c, 0, &s) && op_out(c, 0, &s, OP_TYPE_SAME);
}

bool op_compare(struct op_call *c) {
    struct shape s;

    return all_broadcast(c, 0, &s) && op_out(c, 0, &s, OP_TYPE_BOOL);
}

bool op_where(struct op_call *c) {
    struct shape s;

    return all_broadcast(c, 0, &s) && op_out(c, 0, &s, op_type(c, 1));
}

/* The outputs of an If have the shapes of its first body's outputs, whichever body runs. */
bool op_body(struct op_call *c) {
    const struct node *n = c->n;

    if (n->body_count < n->outputs_count) return false;
    for (uint32_t i = 0; i < n->outputs_count; i++) {
        uint32_t from = c->g->refs[n->body + i];
        const struct value *v = from == NETGRAPH_NONE ? NULL : &c->g->values[from];

        if (!v || !v->shape.known || !op_out(c, i, &v->shape, v->type)) return false;
    }
    return true;
}
