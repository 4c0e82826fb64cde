/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/predict/shape/op.h"

#include <errno.h>
#include <math.h>

const struct shape *op_in(const struct op_call *c, uint32_t i) {
    const struct value *v = netgraph_input(c->g, c->n, i);

    return v && v->shape.known ? &v->shape : NULL;
}

int32_t op_type(const struct op_call *c, uint32_t i) {
    const struct value *v = netgraph_input(c->g, c->n, i);

    return v ? v->type : 0;
}

bool op_has(const struct op_call *c, uint32_t i) {
    return netgraph_input(c->g, c->n, i) != NULL;
}

bool op_numbers(const struct op_call *c, uint32_t i, const double **out, uint32_t *count) {
    const struct value *v = netgraph_input(c->g, c->n, i);

    if (!v || !v->data) return false;
    *out = v->data;
    *count = v->data_count;
    return true;
}

int64_t op_whole(double v) {
    if (isnan(v)) return 0;
    if (v >= 9e18) return INT64_MAX;
    return v <= -9e18 ? INT64_MIN : (int64_t)v;
}

bool op_ints(struct op_call *c, uint32_t i, const char *name, int64_t *out, uint32_t max,
             uint32_t *count) {
    const double *numbers = NULL;
    const int64_t *ints = NULL;

    *count = 0;
    if (op_has(c, i)) {
        if (!op_numbers(c, i, &numbers, count)) return false;
    } else if (!(ints = attribute_ints(c->n, name, count))) {
        return false;
    }
    if (*count > max) return false;
    for (uint32_t k = 0; k < *count; k++)
        out[k] = numbers ? op_whole(numbers[k]) : ints[k];
    return true;
}

bool op_unsound(struct op_call *c, const struct shape *s) {
    char text[SHAPE_TEXT_BYTES] = "too many dimensions";

    if (s->rank <= SHAPE_RANK_MAX) shape_print(s, text);
    c->err = complaint_say(c->why,
                           "its node '%.60s' (%.40s) would give %.120s, which is no tensor: is the "
                           "input of the size that the model is for?",
                           c->n->name, c->n->op, text);
    return false;
}

bool op_out(struct op_call *c, uint32_t i, const struct shape *s, int32_t type) {
    struct value *v = netgraph_output(c->g, c->n, i);

    if (!shape_sound(s)) return op_unsound(c, s);
    if (!v) return true;
    v->shape = *s;
    v->shape.known = true;
    v->type = type == OP_TYPE_SAME ? op_type(c, 0) : type;
    return true;
}

bool op_axis(int64_t axis, uint32_t rank, uint32_t *out) {
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return false;
    *out = (uint32_t)axis;
    return true;
}

static int64_t size_from_end(const struct shape *s, uint32_t i) {
    return i < s->rank ? s->dim[s->rank - 1 - i] : 1;
}

bool op_broadcast(const struct shape *a, const struct shape *b, struct shape *out) {
    struct shape s = {.known = true, .rank = a->rank > b->rank ? a->rank : b->rank};

    for (uint32_t i = 0; i < s.rank; i++) {
        int64_t x = size_from_end(a, i), y = size_from_end(b, i);

        if (x != y && x != 1 && y != 1) return false;
        s.dim[s.rank - 1 - i] = x == 1 ? y : x;
    }
    *out = s;
    return true;
}
