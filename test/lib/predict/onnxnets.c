/* SPDX-License-Identifier: Apache-2.0 */
#include "test/lib/predict/onnxnets.h"

#include <stdio.h>

#define FLOAT 1
#define INT64 7

struct conv {
    int in, out, kernel, stride, group;
    bool bias;
};

static const char *weight(struct onnxmake *m, int rank, const int *sizes) {
    char text[64];
    int at = 0;

    for (int i = 0; i < rank; i++)
        at += snprintf(text + at, sizeof(text) - (size_t)at, "%s%d", i ? "," : "", sizes[i]);
    return onnxmake_weight(m, text);
}
#define WEIGHT(m, ...) \
    weight((m), (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (int[]){__VA_ARGS__})

static void pairs(struct onnxmake *m, const char *name, int v, int times) {
    char text[64];

    snprintf(text, sizeof(text), times == 2 ? "%d,%d" : "%d,%d,%d,%d", v, v, v, v);
    onnxmake_attr_ints(m, name, text);
}

static const char *conv(struct onnxmake *m, const char *x, struct conv c) {
    const char *w = WEIGHT(m, c.out, c.in / c.group, c.kernel, c.kernel);
    const char *y =
        c.bias ? ONNXMAKE_NODE(m, "Conv", x, w, WEIGHT(m, c.out)) : ONNXMAKE_NODE(m, "Conv", x, w);

    pairs(m, "kernel_shape", c.kernel, 2);
    pairs(m, "strides", c.stride, 2);
    pairs(m, "pads", c.kernel / 2, 4);
    onnxmake_attr_int(m, "group", c.group);
    return y;
}

static const char *norm(struct onnxmake *m, const char *x, int channels) {
    return ONNXMAKE_NODE(m, "BatchNormalization", x, WEIGHT(m, channels), WEIGHT(m, channels),
                         WEIGHT(m, channels), WEIGHT(m, channels));
}

static const char *relu(struct onnxmake *m, const char *x) {
    return ONNXMAKE_NODE(m, "Relu", x);
}

static const char *linear(struct onnxmake *m, const char *x, int in, int out) {
    const char *y = ONNXMAKE_NODE(m, "Gemm", x, WEIGHT(m, out, in), WEIGHT(m, out));

    onnxmake_attr_int(m, "transB", 1);
    return y;
}

static const char *pool(struct onnxmake *m, const char *x, int kernel, int stride, int pad) {
    const char *y = ONNXMAKE_NODE(m, "MaxPool", x);

    pairs(m, "kernel_shape", kernel, 2);
    pairs(m, "strides", stride, 2);
    pairs(m, "pads", pad, 4);
    return y;
}

/* ---- residual networks ------------------------------------------------------------------------
 */

static const char *bottleneck(struct onnxmake *m, const char *x, int in, int width, int stride) {
    const char *y = relu(m, norm(m, conv(m, x, (struct conv){in, width, 1, 1, 1, false}), width));
    const char *way = x;

    y = relu(m, norm(m, conv(m, y, (struct conv){width, width, 3, stride, 1, false}), width));
    y = norm(m, conv(m, y, (struct conv){width, 4 * width, 1, 1, 1, false}), 4 * width);
    if (in != 4 * width)
        way = norm(m, conv(m, x, (struct conv){in, 4 * width, 1, stride, 1, false}), 4 * width);
    return relu(m, ONNXMAKE_NODE(m, "Add", y, way));
}

void onnxnets_resnet50(struct onnxmake *m) {
    static const int blocks[] = {3, 4, 6, 3};
    const char *x = onnxmake_input(m, "input", FLOAT, "batch,3,224,224");
    int in = 64;

    x = relu(m, norm(m, conv(m, x, (struct conv){3, 64, 7, 2, 1, false}), 64));
    x = pool(m, x, 3, 2, 1);
    for (int stage = 0; stage < 4; stage++)
        for (int i = 0; i < blocks[stage]; i++) {
            int width = 64 << stage;

            x = bottleneck(m, x, in, width, stage && !i ? 2 : 1);
            in = 4 * width;
        }
    x = ONNXMAKE_NODE(m, "GlobalAveragePool", x);
    x = ONNXMAKE_NODE(m, "Flatten", x);
    onnxmake_output(m, linear(m, x, 2048, 1000), FLOAT, "batch,1000");
}

void onnxnets_vgg16(struct onnxmake *m) {
    static const int widths[] = {64, 128, 256, 512, 512}, convs[] = {2, 2, 3, 3, 3};
    const char *x = onnxmake_input(m, "input", FLOAT, "batch,3,224,224");
    int in = 3;

    for (int stage = 0; stage < 5; stage++) {
        for (int i = 0; i < convs[stage]; i++, in = widths[stage])
            x = relu(m, conv(m, x, (struct conv){in, widths[stage], 3, 1, 1, true}));
        x = pool(m, x, 2, 2, 0);
    }
    x = ONNXMAKE_NODE(m, "Flatten", x);
    x = relu(m, linear(m, x, 512 * 7 * 7, 4096));
    x = relu(m, linear(m, x, 4096, 4096));
    onnxmake_output(m, linear(m, x, 4096, 1000), FLOAT, "batch,1000");
}

/* ---- inverted residuals -----------------------------------------------------------------------
 */

static const char *clip(struct onnxmake *m, const char *x) {
    return ONNXMAKE_NODE(m, "Clip", x);
}

static const char *inverted(struct onnxmake *m, const char *x, int in, int out, int stride,
                            int expand) {
    int width = in * expand;
    const char *y = x;

    if (expand > 1)
        y = clip(m, norm(m, conv(m, y, (struct conv){in, width, 1, 1, 1, false}), width));
    y = clip(m, norm(m, conv(m, y, (struct conv){width, width, 3, stride, width, false}), width));
    y = norm(m, conv(m, y, (struct conv){width, out, 1, 1, 1, false}), out);
    return stride == 1 && in == out ? ONNXMAKE_NODE(m, "Add", x, y) : y;
}

void onnxnets_mobilenet_v2(struct onnxmake *m) {
    static const struct {
        int expand, out, times, stride;
    } rows[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    const char *x = onnxmake_input(m, "input", FLOAT, "batch,3,224,224");
    int in = 32;

    x = clip(m, norm(m, conv(m, x, (struct conv){3, 32, 3, 2, 1, false}), 32));
    for (int r = 0; r < 7; r++)
        for (int i = 0; i < rows[r].times; i++, in = rows[r].out)
            x = inverted(m, x, in, rows[r].out, i ? 1 : rows[r].stride, rows[r].expand);
    x = clip(m, norm(m, conv(m, x, (struct conv){320, 1280, 1, 1, 1, false}), 1280));
    x = ONNXMAKE_NODE(m, "GlobalAveragePool", x);
    x = ONNXMAKE_NODE(m, "Flatten", x);
    onnxmake_output(m, linear(m, x, 1280, 1000), FLOAT, "batch,1000");
}

/* ---- BERT -------------------------------------------------------------------------------------
 */

#define HIDDEN 768
#define HEADS 12

static const char *dense(struct onnxmake *m, const char *x, int in, int out) {
    return ONNXMAKE_NODE(m, "Add", ONNXMAKE_NODE(m, "MatMul", x, WEIGHT(m, in, out)),
                         WEIGHT(m, out));
}

static const char *mean(struct onnxmake *m, const char *x) {
    const char *y = ONNXMAKE_NODE(m, "ReduceMean", x);

    onnxmake_attr_ints(m, "axes", "-1");
    return y;
}

static const char *number(struct onnxmake *m) {
    const char *v = onnxmake_node(m, "Constant", NULL, NULL, 0);
    Onnx__TensorProto *t = onnxmake_tensor(m, "", FLOAT, "");

    onnxmake_attr_tensor(m, "value", t);
    return v;
}

/* Layer normalisation, as PyTorch exported it before ONNX had an operator for it. */
static const char *layer_norm(struct onnxmake *m, const char *x) {
    const char *d = ONNXMAKE_NODE(m, "Sub", x, mean(m, x));
    const char *v = mean(m, ONNXMAKE_NODE(m, "Pow", d, number(m)));

    v = ONNXMAKE_NODE(m, "Sqrt", ONNXMAKE_NODE(m, "Add", v, number(m)));
    v = ONNXMAKE_NODE(m, "Mul", ONNXMAKE_NODE(m, "Div", d, v), WEIGHT(m, HIDDEN));
    return ONNXMAKE_NODE(m, "Add", v, WEIGHT(m, HIDDEN));
}

static const char *size_of(struct onnxmake *m, const char *x, int axis) {
    const char *v = ONNXMAKE_NODE(m, "Gather", ONNXMAKE_NODE(m, "Shape", x), onnxmake_int(m, axis));
    const char *axes = onnxmake_ints(m, 1, (const int64_t[]){0});

    return ONNXMAKE_NODE(m, "Unsqueeze", v, axes);
}

/* [batch, sequence, hidden] to heads and back, by sizes that the graph computes. */
static const char *to_heads(struct onnxmake *m, const char *x, const char *perm) {
    const char *split = onnxmake_ints(m, 2, (const int64_t[]){HEADS, HIDDEN / HEADS});
    const char *to = ONNXMAKE_NODE(m, "Concat", size_of(m, x, 0), size_of(m, x, 1), split);

    onnxmake_attr_int(m, "axis", 0);
    x = ONNXMAKE_NODE(m, "Transpose", ONNXMAKE_NODE(m, "Reshape", x, to));
    onnxmake_attr_ints(m, "perm", perm);
    return x;
}

static const char *from_heads(struct onnxmake *m, const char *x) {
    const char *to, *whole = onnxmake_ints(m, 1, (const int64_t[]){HIDDEN});

    x = ONNXMAKE_NODE(m, "Transpose", x);
    onnxmake_attr_ints(m, "perm", "0,2,1,3");
    to = ONNXMAKE_NODE(m, "Concat", size_of(m, x, 0), size_of(m, x, 1), whole);
    onnxmake_attr_int(m, "axis", 0);
    return ONNXMAKE_NODE(m, "Reshape", x, to);
}

static const char *attention(struct onnxmake *m, const char *x) {
    const char *q = to_heads(m, dense(m, x, HIDDEN, HIDDEN), "0,2,1,3");
    const char *k = to_heads(m, dense(m, x, HIDDEN, HIDDEN), "0,2,3,1");
    const char *v = to_heads(m, dense(m, x, HIDDEN, HIDDEN), "0,2,1,3");
    const char *s = ONNXMAKE_NODE(m, "Div", ONNXMAKE_NODE(m, "MatMul", q, k), number(m));

    s = ONNXMAKE_NODE(m, "Softmax", s);
    return dense(m, from_heads(m, ONNXMAKE_NODE(m, "MatMul", s, v)), HIDDEN, HIDDEN);
}

static const char *gelu(struct onnxmake *m, const char *x) {
    const char *e = ONNXMAKE_NODE(m, "Erf", ONNXMAKE_NODE(m, "Div", x, number(m)));

    e = ONNXMAKE_NODE(m, "Mul", x, ONNXMAKE_NODE(m, "Add", e, number(m)));
    return ONNXMAKE_NODE(m, "Mul", e, number(m));
}

void onnxnets_bert_base(struct onnxmake *m) {
    const char *ids = onnxmake_input(m, "input_ids", INT64, "batch,sequence");
    const char *types = onnxmake_input(m, "token_type_ids", INT64, "batch,sequence");
    const char *places = onnxmake_input(m, "position_ids", INT64, "1,sequence");
    const char *x, *first;

    x = ONNXMAKE_NODE(m, "Gather", WEIGHT(m, 30522, HIDDEN), ids);
    x = ONNXMAKE_NODE(m, "Add", x, ONNXMAKE_NODE(m, "Gather", WEIGHT(m, 2, HIDDEN), types));
    x = ONNXMAKE_NODE(m, "Add", x, ONNXMAKE_NODE(m, "Gather", WEIGHT(m, 512, HIDDEN), places));
    x = layer_norm(m, x);
    for (int layer = 0; layer < 12; layer++) {
        const char *y;

        x = layer_norm(m, ONNXMAKE_NODE(m, "Add", attention(m, x), x));
        y = gelu(m, dense(m, x, HIDDEN, 4 * HIDDEN));
        x = layer_norm(m, ONNXMAKE_NODE(m, "Add", dense(m, y, 4 * HIDDEN, HIDDEN), x));
    }
    first = ONNXMAKE_NODE(m, "Gather", x, onnxmake_int(m, 0));
    onnxmake_attr_int(m, "axis", 1);
    x = ONNXMAKE_NODE(m, "Tanh", linear(m, first, HIDDEN, HIDDEN));
    onnxmake_output(m, x, FLOAT, "batch,768");
}
