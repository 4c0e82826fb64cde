/* SPDX-License-Identifier: Apache-2.0
 *
 * Shape functions of operators that move elements or change axes.
 */
#include <string.h>

#include "daemon/predict/shape/op_layout.h"

/* ---- Reshape --------------------------------------------------------------------------------- */

/* Computes the size of axis `rest`, given as -1, so that the number of elements stays the same. */
static bool fill_rest(const struct shape *x, struct shape *s, int64_t rest) {
    int64_t others = 1, all = shape_elements(x);

    for (uint32_t i = 0; i < s->rank; i++)
        if (i != rest && __builtin_mul_overflow(others, s->dim[i], &others)) return false;
    if (others <= 0 || all % others) return false;
    s->dim[rest] = all / others;
    return true;
}

static int64_t product(const struct shape *s) {
    return shape_sound(s) ? shape_elements(s) : -1;
}

/* Corrects a target whose first size an exporter wrote as a number for another batch. */
static bool batch_again(const struct op_call *c, const struct shape *x, struct shape *s) {
    int64_t was = s->rank ? s->dim[0] : 0;

    if (product(s) == shape_elements(x)) return true;
    if (!c->batch_was || was % c->batch_was || was == 0) return false;
    if (__builtin_mul_overflow(was / c->batch_was, c->batch, &s->dim[0])) return false;
    return product(s) == shape_elements(x);
}

bool op_reshape(struct op_call *c) {
    const struct shape *x = op_in(c, 0);
    bool zero = attribute_int(c->n, "allowzero", 0) != 0;
    int64_t rest = -1;
    struct shape s = {.known = true};

    if (!x || !op_ints(c, 1, "shape", s.dim, SHAPE_RANK_MAX, &s.rank)) return false;
    for (uint32_t i = 0; i < s.rank; i++) {
        if (s.dim[i] == 0 && !zero) {
            if (i >= x->rank) return false;
            s.dim[i] = x->dim[i];
        } else if (s.dim[i] == -1 && rest < 0) {
            rest = i;
        } else if (s.dim[i] < 0) {
            return false;
        }
    }
    if (rest >= 0 && c->batch_was && rest > 0 && s.dim[0] == c->batch_was &&
        x->dim[0] == c->batch && x->rank)
        s.dim[0] = c->batch; /* the batch is a number and another size is open */
    if (rest >= 0 && !fill_rest(x, &s, rest)) return false;
    return batch_again(c, x, &s) && op_out(c, 0, &s, OP_TYPE_SAME);
}

bool op_flatten(struct op_call *c) {
    const struct shape *x = op_in(c, 0);
    int64_t axis = attribute_int(c->n, "axis", 1);
    struct shape s = {.known = true, .rank = 2};

    if (!x) return false;
    if (axis < 0) axis += x->rank;
    if (axis < 0 || axis > x->rank) return false;
    s.dim[0] = shape_part(x, 0, (uint32_t)axis);
    s.dim[1] = shape_part(x, (uint32_t)axis, x->rank);
    return op_out(c, 0, &s, OP_TYPE_SAME);
}

/* ---- added and removed axes ------------------------------------------------------------------ */

/* Converts a list of axes to a bit set; false if an axis is out of range. */
static bool axes_named(const int64_t *axes, uint32_t count, uint32_t rank, uint32_t *bits) {
    *bits = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t axis;

        if (!op_axis(axes[i], rank, &axis)) return false;
        *bits |= 1u << axis;
    }
    return true;
}

bool op_squeeze(struct op_call *c) {
    const struct shape *x = op_in(c, 0);
    int64_t axes[SHAPE_RANK_MAX];
    uint32_t count, bits = 0;
    struct shape s = {.known = true};
    bool named = op_has(c, 1) || attribute_is(c->n, "axes");

    if (!x || (named && !op_ints(c, 1, "axes", axes, SHAPE_RANK_MAX, &count))) return false;
    if (named && !axes_named(axes, count, x->rank, &bits)) return false;
    for (uint32_t i = 0; i < x->rank; i++) {
        bool goes = named ? bits >> i & 1 : x->dim[i] == 1;

        if (goes && x->dim[i] != 1) return false;
        if (!goes) s.dim[s.rank++] = x->dim[i];
    }
    return op_out(c, 0, &s, OP_TYPE_SAME);
}

bool op_unsqueeze(struct op_call *c) {
    const struct shape *x = op_in(c, 0);
    int64_t axes[SHAPE_RANK_MAX];
    uint32_t count, bits, from = 0;
    struct shape s = {.known = true};

    if (!x || !op_ints(c, 1, "axes", axes, SHAPE_RANK_MAX, &count)) return false;
    if (x->rank + count > SHAPE_RANK_MAX || !axes_named(axes, count, x->rank + count, &bits))
        return false;
    if ((uint32_t)__builtin_popcount(bits) != count) return false;
    for (s.rank = 0; s.rank < x->rank + count; s.rank++)
        s.dim[s.rank] = bits >> s.rank & 1 ? 1 : x->dim[from++];
    return op_out(c, 0, &s, OP_TYPE_SAME);
}

bool op_transpose(struct op_call *c) {
    const struct shape *x = op_in(c, 0);
    uint32_t count, axis, bits;
    const int64_t *perm = attribute_ints(c->n, "perm", &count);
    struct shape s;

    if (!x || (perm && (count != x->rank || !axes_named(perm, count, x->rank, &bits))))
        return false;
    s = *x;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (perm && !op_axis(perm[i], x->rank, &axis)) return false;
        s.dim[i] = x->dim[perm ? axis : x->rank - 1 - i];
    }
    return op_out(c, 0, &s, OP_TYPE_SAME);
}

/* ---- concatenating and splitting ------------------------------------------------------------- */

bool op_concat(struct op_call *c) {
    const struct shape *x = op_in(c, 0);
    struct shape s;
    uint32_t axis;

    if (!x || !op_axis(attribute_int(c->n, "axis", 1), x->rank, &axis)) return false;
    s = *x;
    for (uint32_t i = 1; i < c->n->inputs_count; i++) {
        x = op_in(c, i);
        if (!x || x->rank != s.rank) return false;
        for (uint32_t k = 0; k < s.rank; k++)
            if (k != axis && x->dim[k] != s.dim[k]) return false;
        if (__builtin_add_overflow(s.dim[axis], x->dim[axis], &s.dim[axis])) return false;
    }
    return op_out(c, 0, &s, OP_TYPE_SAME);
}

/* The sizes are given, or all parts have the same size except the last. */
bool op_split(struct op_call *c) {
    const struct shape *x = op_in(c, 0);
    int64_t sizes[NETGRAPH_DATA_MAX], parts = c->n->outputs_count, each, left;
    bool given = op_has(c, 1) || attribute_is(c->n, "split");
    uint32_t axis, count;
    struct shape s;

    if (!x || !parts || !op_axis(attribute_int(c->n, "axis", 0), x->rank, &axis)) return false;
    if (given && (!op_ints(c, 1, "split", sizes, NETGRAPH_DATA_MAX, &count) || count != parts))
        return false;
    s = *x;
    each = (x->dim[axis] + parts - 1) / parts;
    left = x->dim[axis];
    for (uint32_t i = 0; i < parts; i++) {
        s.dim[axis] = given ? sizes[i] : left < each ? left : each;
        if (s.dim[axis] > left) return false;
        left -= s.dim[axis];
        if (!op_out(c, i, &s, OP_TYPE_SAME)) return false;
    }
    return true;
}

/* ---- growing tensors ------------------------------------------------------------------------- */

bool op_expand(struct op_call *c) {
    const struct shape *x = op_in(c, 0);
    struct shape to = {.known = true}, s;

    if (!x || !op_ints(c, 1, "shape", to.dim, SHAPE_RANK_MAX, &to.rank)) return false;
    return op_broadcast(x, &to, &s) && op_out(c, 0, &s, OP_TYPE_SAME);
}

bool op_tile(struct op_call *c) {
    const struct shape *x = op_in(c, 0);
    int64_t times[SHAPE_RANK_MAX];
    uint32_t count;
    struct shape s;

    if (!x || !op_ints(c, 1, "repeats", times, SHAPE_RANK_MAX, &count) || count != x->rank)
        return false;
    s = *x;
    for (uint32_t i = 0; i < s.rank; i++)
        if (__builtin_mul_overflow(s.dim[i], times[i], &s.dim[i])) return op_unsound(c, &s);
    return op_out(c, 0, &s, OP_TYPE_SAME);
}

/* The pads before all axes come first, then the pads after them. Since opset 18 only some axes may
 * be named. */
bool op_pad(struct op_call *c) {
    const struct shape *x = op_in(c, 0);
    int64_t pads[2 * SHAPE_RANK_MAX], axes[SHAPE_RANK_MAX];
    uint32_t count, axes_count, axis;
    struct shape s;

    if (!x || !op_ints(c, 1, attribute_is(c->n, "pads") ? "pads" : "paddings", pads,
                       2 * SHAPE_RANK_MAX, &count))
        return false;
    axes_count = x->rank;
    for (uint32_t i = 0; i < x->rank; i++)
        axes[i] = i;
    if (op_has(c, 3) && !op_ints(c, 3, "axes", axes, SHAPE_RANK_MAX, &axes_count)) return false;
    if (count != 2 * axes_count) return false;
    s = *x;
    for (uint32_t i = 0; i < axes_count; i++) {
        if (!op_axis(axes[i], s.rank, &axis)) return false;
        if (__builtin_add_overflow(s.dim[axis], pads[i], &s.dim[axis]) ||
            __builtin_add_overflow(s.dim[axis], pads[axes_count + i], &s.dim[axis]))
            return op_unsound(c, &s);
    }
    return op_out(c, 0, &s, OP_TYPE_SAME);
}

/* Single precision, as ONNX rounds: 10 by 0.7 gives 7. */
static int64_t scaled(int64_t size, float by) {
    float v = (float)size * by;

    return op_whole((double)v);
}

/* The target is given as sizes or as factors. The position of the factors' input depends on the
 * operator's version. */
bool op_resize(struct op_call *c) {
    const struct shape *x = op_in(c, 0);
    const double *scales = NULL;
    const float *floats;
    uint32_t count = 0, scales_at = c->n->inputs_count == 2 ? 1 : 2;
    struct shape s;

    if (!x) return false;
    s = *x;
    if (op_has(c, 3)) {
        if (!op_ints(c, 3, "sizes", s.dim, SHAPE_RANK_MAX, &count) || count != s.rank) return false;
        return op_out(c, 0, &s, OP_TYPE_SAME);
    }
    floats = attribute_floats(c->n, "scales", &count);
    if (!floats && !op_numbers(c, scales_at, &scales, &count)) return false;
    if (count != s.rank) return false;
    for (uint32_t i = 0; i < count; i++)
        s.dim[i] = scaled(s.dim[i], scales ? (float)scales[i] : floats[i]);
    return op_out(c, 0, &s, OP_TYPE_SAME);
}

static bool blocks(struct op_call *c, bool to_space) {
    const struct shape *x = op_in(c, 0);
    int64_t b = attribute_int(c->n, "blocksize", 1);
    struct shape s;

    if (!x || x->rank != 4 || b < 1 || b > 1 << 15) return false;
    s = *x;
    if (to_space ? s.dim[1] % (b * b) : s.dim[2] % b || s.dim[3] % b) return false;
    s.dim[1] = to_space ? s.dim[1] / (b * b) : s.dim[1] * b * b;
    s.dim[2] = to_space ? s.dim[2] * b : s.dim[2] / b;
    s.dim[3] = to_space ? s.dim[3] * b : s.dim[3] / b;
    return op_out(c, 0, &s, OP_TYPE_SAME);
}

bool op_depthtospace(struct op_call *c) {
    return blocks(c, true);
}

bool op_spacetodepth(struct op_call *c) {
    return blocks(c, false);
}
