/* SPDX-License-Identifier: Apache-2.0
 *
 * Shape functions of operators that select elements or reduce axes.
 */
#include "daemon/predict/shape/op_index.h"

/* ---- Slice ------------------------------------------------------------------------------------
 */

struct slice {
    int64_t starts[SHAPE_RANK_MAX], ends[SHAPE_RANK_MAX], axes[SHAPE_RANK_MAX],
        steps[SHAPE_RANK_MAX];
    uint32_t count;
};

static bool slice_read(struct op_call *c, struct slice *l, uint32_t rank) {
    uint32_t n;

    if (!op_ints(c, 1, "starts", l->starts, SHAPE_RANK_MAX, &l->count) ||
        !op_ints(c, 2, "ends", l->ends, SHAPE_RANK_MAX, &n) || n != l->count || n > rank)
        return false;
    for (uint32_t i = 0; i < l->count; i++) {
        l->axes[i] = i;
        l->steps[i] = 1;
    }
    if ((op_has(c, 3) || attribute_is(c->n, "axes")) &&
        (!op_ints(c, 3, "axes", l->axes, SHAPE_RANK_MAX, &n) || n != l->count))
        return false;
    return !op_has(c, 4) || (op_ints(c, 4, "steps", l->steps, SHAPE_RANK_MAX, &n) && n == l->count);
}

static int64_t clamp(int64_t v, int64_t least, int64_t most) {
    return v < least ? least : v > most ? most : v;
}

/* Number of elements that remain of an axis; 0 for a step of 0. */
static int64_t sliced(int64_t size, int64_t start, int64_t end, int64_t step) {
    int64_t least = step < 0 ? -1 : 0, most = step < 0 ? size - 1 : size, whole;

    if (start < 0) start = start < -size ? least : start + size;
    if (end < 0) end = end < -size ? least : end + size;
    start = clamp(start, step < 0 ? 0 : least, most);
    end = clamp(end, least, most);
    whole = step < 0 ? start - end : end - start;
    if (whole <= 0 || step == 0) return 0;
    if (step == INT64_MIN) return 1;
    if (step < 0) step = -step;
    return (whole - 1) / step + 1;
}

bool op_slice(struct op_call *c) {
    const struct shape *x = op_in(c, 0);
    struct slice l;
    struct shape s;
    uint32_t axis;

    if (!x || !slice_read(c, &l, x->rank)) return false;
    s = *x;
    for (uint32_t i = 0; i < l.count; i++) {
        if (!op_axis(l.axes[i], x->rank, &axis)) return false;
        s.dim[axis] = sliced(x->dim[axis], l.starts[i], l.ends[i], l.steps[i]);
    }
    return op_out(c, 0, &s, OP_TYPE_SAME);
}

/* ---- Gather -----------------------------------------------------------------------------------
 */

static void append(struct shape *s, const struct shape *x, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; i++, s->rank++)
        if (s->rank < SHAPE_RANK_MAX) s->dim[s->rank] = x->dim[i];
}

bool op_gather(struct op_call *c) {
    const struct shape *x = op_in(c, 0), *i = op_in(c, 1);
    struct shape s = {.known = true};
    uint32_t axis;

    if (!x || !i || !op_axis(attribute_int(c->n, "axis", 0), x->rank, &axis)) return false;
    append(&s, x, 0, axis);
    append(&s, i, 0, i->rank);
    append(&s, x, axis + 1, x->rank);
    return s.rank <= SHAPE_RANK_MAX && op_out(c, 0, &s, OP_TYPE_SAME);
}

bool op_gatherelements(struct op_call *c) {
    const struct shape *i = op_in(c, 1);

    return i && op_out(c, 0, i, OP_TYPE_SAME);
}

bool op_gathernd(struct op_call *c) {
    const struct shape *x = op_in(c, 0), *i = op_in(c, 1);
    int64_t batch = attribute_int(c->n, "batch_dims", 0), last;
    struct shape s = {.known = true};

    if (!x || !i || i->rank == 0 || batch < 0 || batch > x->rank) return false;
    last = i->dim[i->rank - 1];
    if (last < 0 || last > x->rank - batch) return false;
    append(&s, i, 0, i->rank - 1);
    append(&s, x, (uint32_t)(batch + last), x->rank);
    return s.rank <= SHAPE_RANK_MAX && op_out(c, 0, &s, OP_TYPE_SAME);
}

/* ---- reduced axes ---------------------------------------------------------------------------- */

/* Sets the axes in `bits` to 1, or removes them. */
static struct shape without(const struct shape *x, uint32_t bits, bool keep) {
    struct shape s = {.known = true};

    for (uint32_t i = 0; i < x->rank; i++) {
        if (!(bits >> i & 1))
            s.dim[s.rank++] = x->dim[i];
        else if (keep)
            s.dim[s.rank++] = 1;
    }
    return s;
}

bool op_reduce(struct op_call *c) {
    const struct shape *x = op_in(c, 0);
    int64_t axes[SHAPE_RANK_MAX];
    bool keep = attribute_int(c->n, "keepdims", 1) != 0;
    uint32_t count = 0, bits = 0, axis;
    struct shape s;

    if (!x) return false;
    if ((op_has(c, 1) || attribute_is(c->n, "axes")) &&
        !op_ints(c, 1, "axes", axes, SHAPE_RANK_MAX, &count))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (!op_axis(axes[i], x->rank, &axis)) return false;
        bits |= 1u << axis;
    }
    if (count == 0 && attribute_int(c->n, "noop_with_empty_axes", 0) == 0) bits = UINT32_MAX;
    s = without(x, bits, keep);
    return op_out(c, 0, &s, OP_TYPE_SAME);
}

bool op_arg(struct op_call *c) {
    const struct shape *x = op_in(c, 0);
    struct shape s;
    uint32_t axis;

    if (!x || !op_axis(attribute_int(c->n, "axis", 0), x->rank, &axis)) return false;
    s = without(x, 1u << axis, attribute_int(c->n, "keepdims", 1) != 0);
    return op_out(c, 0, &s, OP_TYPE_INT64);
}

bool op_topk(struct op_call *c) {
    const struct shape *x = op_in(c, 0);
    int64_t k = attribute_int(c->n, "k", -1);
    uint32_t axis, count = 1;
    struct shape s;

    if (!x || !op_axis(attribute_int(c->n, "axis", -1), x->rank, &axis)) return false;
    if (op_has(c, 1) && !op_ints(c, 1, "k", &k, 1, &count)) return false;
    if (count != 1 || k < 0 || k > x->dim[axis]) return false;
    s = *x;
    s.dim[axis] = k;
    return op_out(c, 0, &s, OP_TYPE_SAME) && op_out(c, 1, &s, OP_TYPE_INT64);
}

bool op_onehot(struct op_call *c) {
    const struct shape *x = op_in(c, 0);
    int64_t depth, axis = attribute_int(c->n, "axis", -1);
    struct shape s = {.known = true};
    uint32_t count;

    if (!x || !op_ints(c, 1, "depth", &depth, 1, &count) || count != 1) return false;
    if (axis < 0) axis += x->rank + 1;
    if (axis < 0 || axis > x->rank || x->rank == SHAPE_RANK_MAX) return false;
    append(&s, x, 0, (uint32_t)axis);
    s.dim[s.rank++] = depth;
    append(&s, x, (uint32_t)axis, x->rank);
    return op_out(c, 0, &s, op_type(c, 2));
}
