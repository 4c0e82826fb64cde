/* SPDX-License-Identifier: Apache-2.0
 *
 * Shape functions of operators that create tensors from attributes or from sizes.
 */
#include <errno.h>
#include <math.h>

#include "daemon/predict/shape/op_make.h"

/* Allocates space for `count` known elements of an output. NULL if there are too many or memory is
 * short. */
static double *own_data(struct op_call *c, uint32_t i, uint32_t count) {
    struct value *v = netgraph_output(c->g, c->n, i);

    if (!v || count > NETGRAPH_DATA_MAX) return NULL;
    bounded_free(&c->g->memory, v->data);
    v->data = bounded_alloc(&c->g->memory, count, sizeof(*v->data));
    v->data_count = v->data ? count : 0;
    if (!v->data) c->err = complaint_memory(c->why);
    return v->data;
}

static bool scalar(struct op_call *c, double number, int32_t type) {
    struct shape s = {.known = true};
    double *data;

    if (!op_out(c, 0, &s, type)) return false;
    data = own_data(c, 0, 1);
    if (data) *data = number;
    return !c->err;
}

static bool list(struct op_call *c, const int64_t *ints, const float *floats, uint32_t count) {
    struct shape s = {.known = true, .rank = 1, .dim = {count}};
    double *data;

    if (!op_out(c, 0, &s, ints ? OP_TYPE_INT64 : OP_TYPE_FLOAT)) return false;
    data = own_data(c, 0, count);
    for (uint32_t i = 0; data && i < count; i++)
        data[i] = ints ? (double)ints[i] : (double)floats[i];
    return !c->err;
}

bool op_constant(struct op_call *c) {
    struct value *v = netgraph_output(c->g, c->n, 0);
    uint32_t ints_count, floats_count;
    const int64_t *ints = attribute_ints(c->n, "value_ints", &ints_count);
    const float *floats = attribute_floats(c->n, "value_floats", &floats_count);
    int err;

    if (!v) return false;
    if (ints || floats) return list(c, ints, floats, ints ? ints_count : floats_count);
    if (attribute_is(c->n, "value_int"))
        return scalar(c, (double)attribute_int(c->n, "value_int", 0), OP_TYPE_INT64);
    if (attribute_is(c->n, "value_float"))
        return scalar(c, (double)attribute_float(c->n, "value_float", 0), OP_TYPE_FLOAT);
    err = attribute_tensor(c->g, c->n, "value", v, c->why);
    if (err && err != -ENOENT) c->err = err;
    return err == 0;
}

bool op_constantofshape(struct op_call *c) {
    struct value fill = {0};
    struct shape s = {.known = true};
    int err = attribute_tensor(c->g, c->n, "value", &fill, c->why);
    double number = fill.data_count == 1 ? fill.data[0] : 0, *data;
    int32_t type = err == 0 ? fill.type : OP_TYPE_FLOAT;

    bounded_free(&c->g->memory, fill.data);
    if (err && err != -ENOENT) c->err = err;
    if (c->err || !op_has(c, 0)) return false;
    if (!op_ints(c, 0, "", s.dim, SHAPE_RANK_MAX, &s.rank) || !op_out(c, 0, &s, type)) return false;
    if (shape_elements(&s) > NETGRAPH_DATA_MAX) return true;
    data = own_data(c, 0, (uint32_t)shape_elements(&s));
    for (uint32_t i = 0; data && i < shape_elements(&s); i++)
        data[i] = number;
    return !c->err;
}

/* Since opset 15 only a range of axes may be asked for. */
bool op_shape(struct op_call *c) {
    const struct shape *x = op_in(c, 0);
    int64_t from = attribute_int(c->n, "start", 0), to = attribute_int(c->n, "end", INT64_MAX);
    uint32_t rank = x ? x->rank : 0;

    if (!x) return false;
    if (from < 0) from = from < -(int64_t)rank ? 0 : from + rank;
    if (to < 0) to = to < -(int64_t)rank ? 0 : to + rank;
    if (to > rank) to = rank;
    if (from > to) from = to;
    return list(c, x->dim + from, NULL, (uint32_t)(to - from));
}

bool op_size(struct op_call *c) {
    const struct shape *x = op_in(c, 0);

    return x && scalar(c, (double)shape_elements(x), OP_TYPE_INT64);
}

bool op_range(struct op_call *c) {
    const double *from, *to, *step;
    uint32_t count;
    struct shape s = {.known = true, .rank = 1};
    double *data;

    if (!op_numbers(c, 0, &from, &count) || count != 1 || !op_numbers(c, 1, &to, &count) ||
        count != 1 || !op_numbers(c, 2, &step, &count) || count != 1 || *step == 0)
        return false;
    s.dim[0] = op_whole(fmax(0, ceil((*to - *from) / *step)));
    if (!op_out(c, 0, &s, OP_TYPE_SAME)) return false;
    if (s.dim[0] > NETGRAPH_DATA_MAX) return true;
    data = own_data(c, 0, (uint32_t)s.dim[0]);
    for (uint32_t i = 0; data && i < s.dim[0]; i++)
        data[i] = *from + i * *step;
    return !c->err;
}
