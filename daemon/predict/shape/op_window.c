/* SPDX-License-Identifier: Apache-2.0
 *
 * Shape functions of convolutions and pools, whose windows slide over all axes but the first two.
 */
#include "daemon/predict/shape/op_window.h"

#define WIDEST ((int64_t)1 << 40) /* limit of sizes, strides, pads and dilations */

struct window {
    const struct op_call *c;
    const int64_t *strides, *pads, *dilations, *output_padding;
    uint32_t axes, strides_count, pads_count, dilations_count, padding_count;
    bool same, valid, ceiling;
};

static void window_read(struct window *w, const struct op_call *c, uint32_t axes) {
    *w = (struct window){.c = c, .axes = axes};
    w->strides = attribute_ints(c->n, "strides", &w->strides_count);
    w->pads = attribute_ints(c->n, "pads", &w->pads_count);
    w->dilations = attribute_ints(c->n, "dilations", &w->dilations_count);
    w->output_padding = attribute_ints(c->n, "output_padding", &w->padding_count);
    w->same = attribute_says(c->n, "auto_pad", "SAME_UPPER") ||
              attribute_says(c->n, "auto_pad", "SAME_LOWER");
    w->valid = attribute_says(c->n, "auto_pad", "VALID");
    w->ceiling = attribute_int(c->n, "ceil_mode", 0) != 0;
}

static int64_t bounded(int64_t v, int64_t least) {
    return v < least ? least : v > WIDEST ? WIDEST : v;
}

static int64_t stride(const struct window *w, uint32_t i) {
    return i < w->strides_count ? bounded(w->strides[i], 1) : 1;
}

static int64_t pads(const struct window *w, uint32_t i) {
    if (w->valid || w->pads_count < 2 * w->axes) return 0;
    return bounded(w->pads[i], -WIDEST) + bounded(w->pads[w->axes + i], -WIDEST);
}

/* Extent of a window of `kernel` elements, with dilation. */
static __int128 reach(const struct window *w, uint32_t i, int64_t kernel) {
    int64_t dilation = i < w->dilations_count ? bounded(w->dilations[i], 1) : 1;

    return (__int128)dilation * (kernel - 1) + 1;
}

static int64_t narrow(__int128 v) {
    return v < -1 ? -1 : v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

static int64_t size_after(const struct window *w, uint32_t i, int64_t size, int64_t kernel) {
    int64_t step = stride(w, i);
    __int128 room;

    if (w->same) return (size + step - 1) / step;
    room = (__int128)size + pads(w, i) - reach(w, i, kernel);
    if (room < 0) return -1;
    return narrow((room + (w->ceiling ? step - 1 : 0)) / step + 1);
}

/* Computes the sizes after the first two axes from the input's and the kernel's sizes. */
static void slide(const struct window *w, const struct shape *x, const int64_t *kernel,
                  struct shape *s) {
    for (uint32_t i = 0; i < w->axes; i++)
        s->dim[2 + i] = size_after(w, i, x->dim[2 + i], kernel[i]);
}

bool op_conv(struct op_call *c) {
    const struct shape *x = op_in(c, 0), *k = op_in(c, 1);
    struct shape s;
    struct window w;

    if (!x || !k || x->rank < 3 || k->rank != x->rank) return false;
    window_read(&w, c, x->rank - 2);
    s = *x;
    s.dim[1] = k->dim[0];
    slide(&w, x, k->dim + 2, &s);
    return op_out(c, 0, &s, OP_TYPE_SAME);
}

static int64_t size_before(const struct window *w, uint32_t i, int64_t size, int64_t kernel) {
    int64_t more = i < w->padding_count ? bounded(w->output_padding[i], 0) : 0;

    if (w->same) return narrow((__int128)size * stride(w, i));
    return narrow((__int128)stride(w, i) * (size - 1) + more + reach(w, i, kernel) - pads(w, i));
}

bool op_convtranspose(struct op_call *c) {
    const struct shape *x = op_in(c, 0), *k = op_in(c, 1);
    uint32_t given_count;
    const int64_t *given = attribute_ints(c->n, "output_shape", &given_count);
    int64_t group = attribute_int(c->n, "group", 1);
    struct shape s;
    struct window w;

    if (!x || !k || x->rank < 3 || k->rank != x->rank || group < 1 || group > WIDEST) return false;
    window_read(&w, c, x->rank - 2);
    s = *x;
    s.dim[1] = narrow((__int128)k->dim[1] * group);
    for (uint32_t i = 0; i < w.axes; i++)
        s.dim[2 + i] =
            given_count == w.axes ? given[i] : size_before(&w, i, x->dim[2 + i], k->dim[2 + i]);
    return op_out(c, 0, &s, OP_TYPE_SAME);
}

bool op_pool(struct op_call *c) {
    const struct shape *x = op_in(c, 0);
    uint32_t count;
    const int64_t *kernel = attribute_ints(c->n, "kernel_shape", &count);
    struct shape s;
    struct window w;

    if (!x || x->rank < 3 || count != x->rank - 2) return false;
    for (uint32_t i = 0; i < count; i++)
        if (kernel[i] < 1 || kernel[i] > WIDEST) return false;
    window_read(&w, c, count);
    s = *x;
    slide(&w, x, kernel, &s);
    return op_out(c, 0, &s, OP_TYPE_SAME) && op_out(c, 1, &s, OP_TYPE_INT64);
}

bool op_globalpool(struct op_call *c) {
    const struct shape *x = op_in(c, 0);
    struct shape s;

    if (!x || x->rank < 2) return false;
    s = *x;
    for (uint32_t i = 2; i < s.rank; i++)
        s.dim[i] = 1;
    return op_out(c, 0, &s, OP_TYPE_SAME);
}
