/* SPDX-License-Identifier: Apache-2.0
 *
 * Features of a model: computed by hand for tiny ones, and compared with published figures for four
 * architectures.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "daemon/predict/features/measure.h"
#include "daemon/predict/features/need.h"
#include "test/lib/predict/onnxnets.h"

static int take(struct features *f, struct onnxmake *m, const struct infer_options *o,
                struct complaint *why) {
    struct buf b;
    int err;

    buf_init(&b);
    onnxmake_bytes(m, &b);
    err = measure_bytes(f, b.data, b.len, o, why);
    buf_finish(&b);
    return err;
}

static void expect(struct features *f, void (*make)(struct onnxmake *), int64_t batch) {
    struct infer_size sequence = {"sequence", 128};
    struct infer_options o = {.batch = batch, .sizes = &sequence, .sizes_count = 1};
    struct complaint why = {{0}};
    struct onnxmake m;

    onnxmake_init(&m);
    make(&m);
    cr_assert_eq(take(f, &m, &o, &why), 0, "%s", why.text);
    onnxmake_finish(&m);
    for (uint32_t i = 0; i < f->kinds_count; i++)
        cr_expect(false, "%u operators %s are not counted", f->kinds[i].count, f->kinds[i].kind);
}

/* Compares the operations for one example; published figures for vision models count a
 * multiply-add once. */
static void expect_flops(const struct features *f, double published) {
    double each = f->flops / (double)f->batch;

    cr_expect(each > published * 0.99 && each < published * 1.02, "%.4g beside %.4g", each,
              published);
}

/* torchvision: 25,557,032 parameters, 4.09 GFLOPS (multiply-adds). */
Test(predict_features, resnet50) {
    struct features f;

    expect(&f, onnxnets_resnet50, 32);
    cr_expect_eq(f.parameters, 25557032, "%lu", f.parameters);
    cr_expect_eq(f.parameters_bytes, 4 * 25557032);
    cr_expect_eq(f.batch, 32);
    expect_flops(&f, 2 * 4.09e9);
    cr_expect_eq(f.counts[FEATURES_Conv], 53);
    cr_expect_eq(f.counts[FEATURES_BatchNormalization], 53);
    cr_expect_eq(f.counts[FEATURES_Relu], 49);
    cr_expect_eq(f.counts[FEATURES_MaxPool], 1);
    cr_expect_eq(f.counts[FEATURES_GlobalAveragePool], 1);
    cr_expect_eq(f.counts[FEATURES_Gemm], 1);
}

/* torchvision: 138,357,544 and 15.47. */
Test(predict_features, vgg16) {
    struct features f;

    expect(&f, onnxnets_vgg16, 8);
    cr_expect_eq(f.parameters, 138357544, "%lu", f.parameters);
    expect_flops(&f, 2 * 15.47e9);
}

/* torchvision: 3,504,872 and 0.30 (300.8 million). Operations other than products are 3 % here. */
Test(predict_features, mobilenet_v2) {
    struct features f;

    expect(&f, onnxnets_mobilenet_v2, 1);
    cr_expect_eq(f.parameters, 3504872, "%lu", f.parameters);
    cr_expect(f.flops > 2 * 300.8e6 && f.flops < 2 * 300.8e6 * 1.08, "%.4g", f.flops);
}

/* Hugging Face: 109,482,240 with the pooler; TinyBERT's table 1: 22.5 billion at a length of 128.
 */
Test(predict_features, bert_base) {
    struct features f;

    expect(&f, onnxnets_bert_base, 4);
    cr_expect_eq(f.parameters, 109482240, "%lu", f.parameters);
    expect_flops(&f, 22.5e9);
    cr_expect_eq(f.counts[FEATURES_ReduceMean], 50);
    cr_expect_eq(f.counts[FEATURES_Reshape], 48);
    cr_expect_eq(f.counts[FEATURES_Transpose], 48);
}

/* 2 x 3 by 3 x 5, a Relu of the product, viewed as a row: all computed by hand. */
static void tiny(struct onnxmake *m) {
    const char *x = onnxmake_input(m, "x", 1, "N,3");
    const char *y = ONNXMAKE_NODE(m, "Gemm", x, onnxmake_weight(m, "3,5"), onnxmake_weight(m, "5"));

    ONNXMAKE_NODE(m, "Flatten", ONNXMAKE_NODE(m, "Relu", y));
}

Test(predict_features, by_hand) {
    struct features f;
    struct need n;

    expect(&f, tiny, 2);
    cr_expect_eq(f.parameters, 20);
    cr_expect_eq(f.flops, 2 * 2 * 3 * 5 + 2 * 5 /* bias */ + 2 * 5 /* Relu */);
    cr_expect_eq(f.activations_bytes, 2 * (2 * 5 * 4)); /* Gemm, Relu; Flatten is a view */
    cr_expect_eq(f.gradients_bytes, 2 * (2 * 5 * 4) + 20 * 4);
    cr_expect_eq(f.input_bytes, 2 * 3 * 4);
    cr_expect_eq(f.nodes, 3);
    need_estimate(&n, &f, NEED_ADAM, 1000);
    cr_expect_eq(n.persistent_bytes, 80 + 160 + 1000);
    cr_expect_eq(n.ephemeral_bytes, 80 + 160 + 24);
    need_estimate(&n, &f, NEED_NONE, 0);
    cr_expect_eq(n.persistent_bytes, 80);
    cr_expect_eq(n.ephemeral_bytes, 80 + 24);
    need_estimate(&n, &f, NEED_MOMENTUM, 0);
    cr_expect_eq(n.persistent_bytes, 160);
    cr_expect_eq(need_find_optimiser("adam"), NEED_ADAM);
    cr_expect_eq(need_find_optimiser("lion"), -1);
}

/* Running means and variances are stored, but not trained. */
static void normalised(struct onnxmake *m) {
    const char *x = onnxmake_input(m, "x", 1, "N,4,2,2");

    ONNXMAKE_NODE(m, "BatchNormalization", x, onnxmake_weight(m, "4"), onnxmake_weight(m, "4"),
                  onnxmake_weight(m, "4"), onnxmake_weight(m, "4"));
}

Test(predict_features, states_are_no_parameters) {
    struct features f;

    expect(&f, normalised, 1);
    cr_expect_eq(f.parameters, 8);
    cr_expect_eq(f.buffers_bytes, 8 * 4);
}

static void recurrent(struct onnxmake *m) {
    const char *x = onnxmake_input(m, "x", 1, "6,batch,3");

    ONNXMAKE_NODE(m, "LSTM", x, onnxmake_weight(m, "1,20,3"), onnxmake_weight(m, "1,20,5"));
    onnxmake_attr_int(m, "hidden_size", 5);
    onnxmake_more(m);
}

/* The batch is the second axis, identified by its name. */
Test(predict_features, a_recurrent_one) {
    struct features f;

    expect(&f, recurrent, 7);
    cr_expect_eq(f.batch, 7);
    cr_expect_eq(f.flops, 6 * 7 * (2 * 20 * 3 + 2 * 20 * 5 + 8 * 5));
    cr_expect_eq(f.activations_bytes, 4 * (6 * 7 * 5 + 7 * 5));
    cr_expect_eq(f.counts[FEATURES_LSTM], 1);
}

static void strange(struct onnxmake *m) {
    const char *x = onnxmake_input(m, "x", 1, "N,3");
    const char *y = ONNXMAKE_NODE(m, "Entmax", x), *z = ONNXMAKE_NODE(m, "Entmax", y);

    ONNXMAKE_NODE(m, "NonZero", ONNXMAKE_NODE(m, "Relu", z));
}

/* Nothing is guessed: values without a shape are named, with those that depend on them. */
Test(predict_features, what_is_not_counted_is_said) {
    struct complaint why = {{0}};
    struct infer_options o = {.batch = 1};
    struct features f;
    struct onnxmake m;

    onnxmake_init(&m);
    strange(&m);
    cr_assert_eq(take(&f, &m, &o, &why), 0, "%s", why.text);
    cr_expect_eq(f.unknown, 4);
    cr_expect_eq(f.kinds_count, 3);
    cr_expect_str_eq(f.kinds[0].kind, "Entmax");
    cr_expect_eq(f.kinds[0].count, 2);
    cr_expect_eq(f.flops, 0);
    onnxmake_finish(&m);
}

/* Weights of which the file stores the nonzero elements only. */
static void sparse(struct onnxmake *m) {
    const char *x = onnxmake_input(m, "x", 1, "N,3");
    Onnx__SparseTensorProto *s = arena_calloc(m->arena, 1, sizeof(*s));

    onnx__sparse_tensor_proto__init(s);
    s->values = onnxmake_tensor(m, "sparse", 1, "2");
    s->indices = onnxmake_tensor(m, "", 7, "2");
    s->dims = arena_calloc(m->arena, 2, sizeof(*s->dims));
    s->n_dims = 2;
    s->dims[0] = 3;
    s->dims[1] = 5;
    m->graph.sparse_initializer = arena_calloc(m->arena, 1, sizeof(s));
    m->graph.sparse_initializer[m->graph.n_sparse_initializer++] = s;
    ONNXMAKE_NODE(m, "Gemm", x, "sparse");
}

Test(predict_features, sparse_weights_are_weights) {
    struct features f;

    expect(&f, sparse, 2);
    cr_expect_eq(f.parameters, 15);
    cr_expect_eq(f.flops, 2 * 2 * 3 * 5);
}

/* Moves the last node out of the graph into a body, which returns the node's output. */
static Onnx__GraphProto *body(struct onnxmake *m) {
    Onnx__GraphProto *g = arena_calloc(m->arena, 1, sizeof(*g));
    Onnx__ValueInfoProto *out = arena_calloc(m->arena, 1, sizeof(*out));

    onnx__graph_proto__init(g);
    onnx__value_info_proto__init(out);
    g->node = arena_calloc(m->arena, 1, sizeof(*g->node));
    g->output = arena_calloc(m->arena, 1, sizeof(*g->output));
    g->n_node = g->n_output = 1;
    g->node[0] = onnxmake_last(m);
    g->output[0] = out;
    out->name = g->node[0]->output[0];
    m->graph.n_node--;
    return g;
}

/* Both branches use x, and x is the only known input. */
static void chosen(struct onnxmake *m) {
    const char *x = onnxmake_input(m, "x", 1, "N,3"), *y;
    Onnx__GraphProto *yes, *no;

    ONNXMAKE_NODE(m, "Relu", x);
    yes = body(m);
    ONNXMAKE_NODE(m, "Neg", x);
    no = body(m);
    y = ONNXMAKE_NODE(m, "If", onnxmake_int(m, 1));
    onnxmake_attr_graph(m, "then_branch", yes);
    onnxmake_attr_graph(m, "else_branch", no);
    ONNXMAKE_NODE(m, "Gemm", y, onnxmake_weight(m, "3,5"));
}

Test(predict_features, what_a_branch_takes_is_no_constant) {
    struct features f;

    expect(&f, chosen, 2);
    cr_expect_eq(f.flops, 2 * (2 * 3) + 2 * 2 * 3 * 5, "%g", f.flops);
    cr_expect_eq(f.activations_bytes, 4 * (2 * (2 * 3) + 2 * 5), "%lu", f.activations_bytes);
}

/* ---- values in the file
 * ----------------------------------------------------------------------- */

/* The pool's attributes omit the output sizes, so those of the file count. */
static void pooled(struct onnxmake *m, const char *kernel) {
    const char *x = onnxmake_input(m, "x", 1, "1,3,8,8"), *y = ONNXMAKE_NODE(m, "MaxPool", x);

    onnxmake_attr_ints(m, "kernel_shape", kernel);
    onnxmake_info(m, y, 1, "1,3,8,8");
}

static void pooled_by_nothing(struct onnxmake *m) {
    pooled(m, "-3,3");
}

static void pooled_by_too_much(struct onnxmake *m) {
    pooled(m, "4611686018427387904,4611686018427387904");
}

static void pooled_by_far_too_much(struct onnxmake *m) {
    pooled(m, "1,1,1,1,1,1,1,1,1,1,1,1,1,1");
}

Test(predict_features, windows_that_are_none_cost_nothing) {
    void (*const nets[])(struct onnxmake *) = {pooled_by_nothing, pooled_by_too_much,
                                               pooled_by_far_too_much};

    for (int i = 0; i < 3; i++) {
        struct features f;

        expect(&f, nets[i], 1);
        cr_expect_eq(f.flops, 0, "%d: %g", i, f.flops);
    }
}

/* Each letter has a size that a tensor may have, but their product overflows. */
static void endless_sum(struct onnxmake *m) {
    const char *x[26];

    for (int i = 0; i < 26; i++)
        x[i] = onnxmake_input(m, (char[]){(char)('a' + i), '\0'}, 2, "17592186044416");
    onnxmake_node(m, "Einsum", NULL, x, 26);
    onnxmake_attr_text(m, "equation", "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z->");
}

Test(predict_features, operations_are_a_number) {
    struct complaint why = {{0}};
    struct infer_options o = {0};
    struct features f;
    struct onnxmake m;

    onnxmake_init(&m);
    endless_sum(&m);
    cr_expect_eq(take(&f, &m, &o, &why), -EINVAL);
    cr_expect(strstr(why.text, "more operations than"), "%s", why.text);
    onnxmake_finish(&m);
}

static void strange_bytes(struct onnxmake *m) {
    ONNXMAKE_NODE(m, "a\xff\xc3z\xe2\x82\xac\xed\xa0\x80", onnxmake_input(m, "x", 1, "1"));
}

/* Bytes that are invalid UTF-8 are never written to JSON. */
Test(predict_features, kinds_are_text) {
    struct complaint why = {{0}};
    struct infer_options o = {0};
    struct features f;
    struct onnxmake m;

    onnxmake_init(&m);
    strange_bytes(&m);
    cr_assert_eq(take(&f, &m, &o, &why), 0, "%s", why.text);
    cr_expect_str_eq(f.kinds[0].kind, "a??z\xe2\x82\xac???");
    onnxmake_finish(&m);
}

/* Each tensor is possible, but not all of them together. */
static void absurd_weights(struct onnxmake *m) {
    const char *x = onnxmake_input(m, "x", 1, "N");

    ONNXMAKE_NODE(m, "Relu", x);
    for (int i = 0; i < 64; i++)
        onnxmake_weight(m, "2097152,8388608");
}

static void absurd_steps(struct onnxmake *m) {
    const char *x = onnxmake_input(m, "x", 1, "N,1048576,1048576");

    for (int i = 0; i < 64; i++)
        x = ONNXMAKE_NODE(m, "Relu", x);
}

Test(predict_features, absurd_sums_are_refused) {
    void (*const nets[])(struct onnxmake *) = {absurd_weights, absurd_steps};
    struct infer_options o = {.batch = 16};

    for (int i = 0; i < 2; i++) {
        struct complaint why = {{0}};
        struct features f;
        struct onnxmake m;

        onnxmake_init(&m);
        nets[i](&m);
        cr_expect_eq(take(&f, &m, &o, &why), -EINVAL);
        cr_expect(strstr(why.text, "2^50 bytes"), "%s", why.text);
        onnxmake_finish(&m);
    }
}
