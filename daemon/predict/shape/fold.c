/* SPDX-License-Identifier: Apache-2.0
 *
 * Elements of constant tensors are computed as doubles, which hold every possible size of a tensor
 * exactly.
 */
#include "daemon/predict/shape/fold.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct fold {
    const char *name;
    /* Fills `out` with `count` elements; returns false if that is impossible. */
    bool (*fill)(const struct op_call *c, double *out, uint32_t count);
};

static const struct value *in(const struct op_call *c, uint32_t i) {
    const struct value *v = netgraph_input(c->g, c->n, i);

    return v && v->data ? v : NULL;
}

/* Reshape and similar operators keep the elements unchanged. */
static bool fill_same(const struct op_call *c, double *out, uint32_t count) {
    const struct value *x = in(c, 0);

    if (x->data_count != count) return false;
    memcpy(out, x->data, count * sizeof(*out));
    return true;
}

static bool is_whole(int32_t type) {
    return (type >= 2 && type <= 7) || type == 9 || type == 12 || type == 13;
}

static bool fill_cast(const struct op_call *c, double *out, uint32_t count) {
    if (!fill_same(c, out, count)) return false;
    for (uint32_t i = 0; i < count; i++)
        if (is_whole((int32_t)attribute_int(c->n, "to", 0))) out[i] = trunc(out[i]);
    return true;
}

static bool fill_concat(const struct op_call *c, double *out, uint32_t count) {
    uint32_t at = 0;

    for (uint32_t i = 0; i < c->n->inputs_count; i++) {
        const struct value *x = in(c, i);

        if (!x || x->shape.rank != 1 || x->data_count > count - at) return false;
        memcpy(out + at, x->data, x->data_count * sizeof(*out));
        at += x->data_count;
    }
    return at == count;
}

static bool fill_gather(const struct op_call *c, double *out, uint32_t count) {
    const struct value *x = in(c, 0), *which = in(c, 1);

    if (!which || x->shape.rank != 1 || which->data_count != count) return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at;

        if (!op_axis(op_whole(which->data[i]), x->data_count, &at)) return false;
        out[i] = x->data[at];
    }
    return true;
}

/* Slices a list with step 1, which is how exporters cut shapes. */
static bool fill_slice(const struct op_call *c, double *out, uint32_t count) {
    struct op_call call = *c;
    const struct value *x = in(c, 0);
    int64_t start, step = 1;
    uint32_t n;

    if (x->shape.rank != 1 || !op_ints(&call, 1, "starts", &start, 1, &n) || n != 1) return false;
    if (op_has(c, 4) && (!op_ints(&call, 4, "steps", &step, 1, &n) || n != 1)) return false;
    if (start < 0) start += x->data_count;
    if (start < 0) start = 0;
    if (step != 1 || start > x->data_count || count > x->data_count - (uint32_t)start) return false;
    memcpy(out, x->data + start, count * sizeof(*out));
    return true;
}

/* ---- element by element -----------------------------------------------------------------------
 */

typedef double (*binary_fn)(double a, double b, bool whole);

/* Applies f to lists of one length; scalars are broadcast. */
static bool each(const struct op_call *c, double *out, uint32_t count, binary_fn f) {
    const struct value *a = in(c, 0), *b = in(c, 1);

    if (!b || (a->data_count != count && a->data_count != 1) ||
        (b->data_count != count && b->data_count != 1) || a->shape.rank > 1 || b->shape.rank > 1)
        return false;
    for (uint32_t i = 0; i < count; i++)
        out[i] = f(a->data[a->data_count == 1 ? 0 : i], b->data[b->data_count == 1 ? 0 : i],
                   is_whole(a->type));
    return true;
}

static double add(double a, double b, bool whole) {
    return a + b;
}
static double subtract(double a, double b, bool whole) {
    return a - b;
}
static double multiply(double a, double b, bool whole) {
    return a * b;
}
static double divide(double a, double b, bool whole) {
    if (whole && b == 0) return 0;
    return whole ? trunc(a / b) : a / b;
}
static double modulo(double a, double b, bool whole) {
    return b == 0 ? 0 : a - b * floor(a / b);
}
static double least(double a, double b, bool whole) {
    return fmin(a, b);
}
static double most(double a, double b, bool whole) {
    return fmax(a, b);
}
static double equal(double a, double b, bool whole) {
    return a == b;
}
static double greater(double a, double b, bool whole) {
    return a > b;
}
static double less(double a, double b, bool whole) {
    return a < b;
}

#define EACH(name)                                                                  \
    static bool fill_##name(const struct op_call *c, double *out, uint32_t count) { \
        return c->n->inputs_count == 2 && each(c, out, count, name);                \
    }
EACH(add)
EACH(subtract)
EACH(multiply)
EACH(divide)
EACH(modulo)
EACH(least)
EACH(most)
EACH(equal)
EACH(greater)
EACH(less)

static bool fill_where(const struct op_call *c, double *out, uint32_t count) {
    const struct value *v[3] = {in(c, 0), in(c, 1), in(c, 2)};

    for (int k = 0; k < 3; k++)
        if (!v[k] || v[k]->shape.rank > 1 || (v[k]->data_count != count && v[k]->data_count != 1))
            return false;
    for (uint32_t i = 0; i < count; i++) {
        const struct value *from = v[v[0]->data[v[0]->data_count == 1 ? 0 : i] != 0 ? 1 : 2];

        out[i] = from->data[from->data_count == 1 ? 0 : i];
    }
    return true;
}

static bool one_by_one(const struct op_call *c, double *out, uint32_t count, double (*f)(double)) {
    if (!fill_same(c, out, count)) return false;
    for (uint32_t i = 0; i < count; i++)
        out[i] = f(out[i]);
    return true;
}

static bool fill_floor(const struct op_call *c, double *out, uint32_t count) {
    return one_by_one(c, out, count, floor);
}

static bool fill_ceil(const struct op_call *c, double *out, uint32_t count) {
    return one_by_one(c, out, count, ceil);
}

static bool fill_sqrt(const struct op_call *c, double *out, uint32_t count) {
    return one_by_one(c, out, count, sqrt);
}

/* Multiplies all elements into one. */
static bool fill_product(const struct op_call *c, double *out, uint32_t count) {
    const struct value *x = in(c, 0);

    if (count != 1) return false;
    out[0] = 1;
    for (uint32_t i = 0; i < x->data_count; i++)
        out[0] *= x->data[i];
    return true;
}

static const struct fold folds[] = {{"Add", fill_add},         {"Cast", fill_cast},
                                    {"Ceil", fill_ceil},       {"Concat", fill_concat},
                                    {"Div", fill_divide},      {"Equal", fill_equal},
                                    {"Floor", fill_floor},     {"Gather", fill_gather},
                                    {"Greater", fill_greater}, {"Identity", fill_same},
                                    {"Less", fill_less},       {"Max", fill_most},
                                    {"Min", fill_least},       {"Mod", fill_modulo},
                                    {"Mul", fill_multiply},    {"ReduceProd", fill_product},
                                    {"Reshape", fill_same},    {"Slice", fill_slice},
                                    {"Sqrt", fill_sqrt},       {"Squeeze", fill_same},
                                    {"Sub", fill_subtract},    {"Unsqueeze", fill_same},
                                    {"Where", fill_where}};

static int by_name(const void *key, const void *f) {
    return strcmp(key, ((const struct fold *)f)->name);
}

int fold_node(struct op_call *c) {
    const struct fold *f =
        bsearch(c->n->op, folds, sizeof(folds) / sizeof(folds[0]), sizeof(folds[0]), by_name);
    struct value *v = netgraph_output(c->g, c->n, 0);
    int64_t elements;

    if (!f || !v || !v->shape.known || !in(c, 0)) return 0;
    elements = shape_elements(&v->shape);
    if (elements > NETGRAPH_DATA_MAX) return 0;
    v->data = bounded_alloc(&c->g->memory, (size_t)elements, sizeof(*v->data));
    if (!v->data) return complaint_memory(c->why);
    v->data_count = (uint32_t)elements;
    if (f->fill(c, v->data, v->data_count)) return 0;
    bounded_free(&c->g->memory, v->data);
    v->data = NULL;
    v->data_count = 0;
    return 0;
}
