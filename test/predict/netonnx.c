/* SPDX-License-Identifier: Apache-2.0
 *
 * A network of layers.h as ONNX: netonnx LAYERS FILE.onnx. Weights have sizes and no elements; the
 * batch is a name.
 */
#include "test/lib/predict/onnxmake.h"
#include "test/predict/layers.h"

struct writer {
    struct onnxmake m;
    struct layers n;
    const char *name[LAYERS_MAX]; /* output name of each layer */
};

static const char *sized(struct writer *w, int a, int b, int c, int d) {
    char text[64];
    int rank = d ? 4 : c ? 3 : b ? 2 : 1, v[] = {a, b, c, d}, at = 0;

    for (int i = 0; i < rank; i++)
        at += snprintf(text + at, sizeof(text) - (size_t)at, "%s%d", i ? "," : "", v[i]);
    return onnxmake_weight(&w->m, text);
}

static void attribute(struct writer *w, const char *name, int v, int times) {
    char text[64];

    if (times == 2)
        snprintf(text, sizeof(text), "%d,%d", v, v);
    else
        snprintf(text, sizeof(text), "%d,%d,%d,%d", v, v, v, v);
    onnxmake_attr_ints(&w->m, name, text);
}

static const char *window(struct writer *w, const struct layer *l, const struct layer *x,
                          const char *in) {
    bool conv = layer_is(l, "conv");
    int k = l->p[conv];
    const char *y;

    if (conv)
        y = ONNXMAKE_NODE(&w->m, "Conv", in, sized(w, l->p[0], x->size[0] / l->p[4], k, k),
                          sized(w, l->p[0], 0, 0, 0));
    else
        y = ONNXMAKE_NODE(&w->m, layer_is(l, "maxpool") ? "MaxPool" : "AveragePool", in);
    attribute(w, "kernel_shape", k, 2);
    attribute(w, "strides", l->p[conv + 1], 2);
    if (conv) attribute(w, "pads", l->p[3], 4);
    if (conv) onnxmake_attr_int(&w->m, "group", l->p[4]);
    return y;
}

/* A vector becomes a Gemm, each step of a sequence a MatMul and an Add, as PyTorch writes it. */
static const char *dense(struct writer *w, const struct layer *l, const struct layer *x,
                         const char *in) {
    int from = x->size[x->rank - 1];
    const char *y;

    if (x->rank == 1) {
        y = ONNXMAKE_NODE(&w->m, "Gemm", in, sized(w, l->p[0], from, 0, 0),
                          sized(w, l->p[0], 0, 0, 0));
        onnxmake_attr_int(&w->m, "transB", 1);
        return y;
    }
    y = ONNXMAKE_NODE(&w->m, "MatMul", in, sized(w, from, l->p[0], 0, 0));
    return ONNXMAKE_NODE(&w->m, "Add", y, sized(w, l->p[0], 0, 0, 0));
}

/* ONNX has the sequence axis first: transposes there and back. */
static const char *recurrent(struct writer *w, const struct layer *l, const struct layer *x,
                             const char *in) {
    bool lstm = layer_is(l, "lstm");
    int gates = lstm ? 4 : 3, h = l->p[0];
    const char *y;

    in = ONNXMAKE_NODE(&w->m, "Transpose", in);
    onnxmake_attr_ints(&w->m, "perm", "1,0,2");
    y = ONNXMAKE_NODE(&w->m, lstm ? "LSTM" : "GRU", in, sized(w, 1, gates * h, x->size[1], 0),
                      sized(w, 1, gates * h, h, 0), sized(w, 1, 2 * gates * h, 0, 0));
    onnxmake_attr_int(&w->m, "hidden_size", h);
    y = ONNXMAKE_NODE(&w->m, "Squeeze", y, onnxmake_ints(&w->m, 1, (const int64_t[]){1}));
    y = ONNXMAKE_NODE(&w->m, "Transpose", y);
    onnxmake_attr_ints(&w->m, "perm", "1,0,2");
    return y;
}

static const char *scores(struct writer *w, const char *a, const char *b) {
    const char *y, *t = ONNXMAKE_NODE(&w->m, "Transpose", b), *k;

    onnxmake_attr_ints(&w->m, "perm", "0,2,1");
    y = ONNXMAKE_NODE(&w->m, "MatMul", a, t);
    k = onnxmake_node(&w->m, "Constant", NULL, NULL, 0);
    onnxmake_attr_tensor(&w->m, "value", onnxmake_tensor(&w->m, "", 1, ""));
    return ONNXMAKE_NODE(&w->m, "Mul", y, k);
}

static const char *mean(struct writer *w, const char *in) {
    const char *y = ONNXMAKE_NODE(&w->m, "ReduceMean", in);

    onnxmake_attr_ints(&w->m, "axes", "1");
    onnxmake_attr_int(&w->m, "keepdims", 0);
    return y;
}

static const char *write_layer(struct writer *w, const struct layer *l) {
    const struct layer *x = &w->n.layer[l->from];
    const char *a = w->name[l->from], *b = w->name[l->from2];
    int c = x->size[0], f = x->size[x->rank - 1];

    if (layer_is(l, "conv") || layer_is(l, "maxpool") || layer_is(l, "avgpool"))
        return window(w, l, x, a);
    if (layer_is(l, "fc")) return dense(w, l, x, a);
    if (layer_is(l, "lstm") || layer_is(l, "gru")) return recurrent(w, l, x, a);
    if (layer_is(l, "scores")) return scores(w, a, b);
    if (layer_is(l, "mix")) return ONNXMAKE_NODE(&w->m, "MatMul", a, b);
    if (layer_is(l, "add")) return ONNXMAKE_NODE(&w->m, "Add", a, b);
    if (layer_is(l, "mean")) return mean(w, a);
    if (layer_is(l, "gap")) return ONNXMAKE_NODE(&w->m, "GlobalAveragePool", a);
    if (layer_is(l, "flatten")) return ONNXMAKE_NODE(&w->m, "Flatten", a);
    if (layer_is(l, "relu")) return ONNXMAKE_NODE(&w->m, "Relu", a);
    if (layer_is(l, "softmax")) return ONNXMAKE_NODE(&w->m, "Softmax", a);
    if (layer_is(l, "bn"))
        return ONNXMAKE_NODE(&w->m, "BatchNormalization", a, sized(w, c, 0, 0, 0),
                             sized(w, c, 0, 0, 0), sized(w, c, 0, 0, 0), sized(w, c, 0, 0, 0));
    if (layer_is(l, "ln"))
        return ONNXMAKE_NODE(&w->m, "LayerNormalization", a, sized(w, f, 0, 0, 0),
                             sized(w, f, 0, 0, 0));
    b = ONNXMAKE_NODE(&w->m, "Concat", a, b);
    onnxmake_attr_int(&w->m, "axis", 1);
    return b;
}

int main(int argc, char **argv) {
    static struct writer w;
    struct buf b;
    char sizes[64] = "batch";
    FILE *f;

    if (argc != 3) return 2;
    layers_read(&w.n, argv[1]);
    onnxmake_init(&w.m);
    for (int i = 0; i < w.n.layer[0].rank; i++)
        snprintf(sizes + strlen(sizes), sizeof(sizes) - strlen(sizes), ",%d", w.n.layer[0].size[i]);
    w.name[0] = onnxmake_input(&w.m, "x", 1, sizes);
    for (int i = 1; i < w.n.count; i++)
        w.name[i] = write_layer(&w, &w.n.layer[i]);
    buf_init(&b);
    onnxmake_bytes(&w.m, &b);
    f = fopen(argv[2], "wb");
    if (!f || fwrite(b.data, 1, b.len, f) != b.len || fclose(f)) {
        perror(argv[2]);
        return 1;
    }
    buf_finish(&b);
    onnxmake_finish(&w.m);
    return 0;
}
