/* SPDX-License-Identifier: Apache-2.0
 *
 * Sizes for a batch: which size is the batch, values that depend on it elsewhere, and which of the
 * file's sizes count. check-predict compares single operators with onnx's own inference; here are
 * operators for which onnx infers nothing, and those that few models have.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "daemon/predict/onnx/model.h"
#include "daemon/predict/shape/infer.h"
#include "daemon/predict/shape/ops.h"
#include "test/lib/predict/onnxmake.h"

#define FLOAT 1
#define INT64 7

/* A function that makes a model, whose last node is examined. */
typedef void (*make_fn)(struct onnxmake *m);

static int infer(struct netgraph *g, make_fn make, const struct infer_options *o,
                 struct complaint *why) {
    struct onnxmake m;
    struct buf b;
    int64_t batch;
    int err;

    onnxmake_init(&m);
    make(&m);
    buf_init(&b);
    onnxmake_bytes(&m, &b);
    onnxmake_finish(&m);
    err = model_read(g, b.data, b.len, why);
    buf_finish(&b);
    return err ? err : infer_shapes(g, o, &batch, why);
}

/* Expects the sizes of this output of the last node: "?" for an unknown size. */
static void expect_output(make_fn make, int64_t batch, uint32_t output, const char *sizes) {
    struct infer_size named = {"tokens", 7};
    struct infer_options o = {.batch = batch, .sizes = &named, .sizes_count = 1};
    struct complaint why = {{0}};
    char text[SHAPE_TEXT_BYTES] = "?";
    const struct value *v;
    struct netgraph g;

    cr_assert_eq(infer(&g, make, &o, &why), 0, "%s: %s", sizes, why.text);
    v = netgraph_output(&g, &g.nodes[g.nodes_count - 1], output);
    if (v->shape.known) shape_print(&v->shape, text);
    cr_expect_str_eq(text, sizes);
    netgraph_finish(&g);
}

static void expect(make_fn make, int64_t batch, const char *sizes) {
    expect_output(make, batch, 0, sizes);
}

/* ---- the batch --------------------------------------------------------------------------------
 */

static void fixed(struct onnxmake *m) {
    ONNXMAKE_NODE(m, "Relu", onnxmake_input(m, "x", FLOAT, "1,3,8"));
}

static void named(struct onnxmake *m) {
    ONNXMAKE_NODE(m, "Relu", onnxmake_input(m, "x", FLOAT, "anything,tokens"));
}

static void batch_second(struct onnxmake *m) {
    ONNXMAKE_NODE(m, "Relu", onnxmake_input(m, "x", FLOAT, "tokens,Batch_size,3"));
}

static void two_inputs(struct onnxmake *m) {
    const char *x = onnxmake_input(m, "x", FLOAT, "4,3"), *y = onnxmake_input(m, "y", FLOAT, "1,3");

    ONNXMAKE_NODE(m, "Add", x, y);
}

Test(predict_shapes, which_size_is_the_batch) {
    expect(fixed, 0, "1x3x8");
    expect(fixed, 32, "32x3x8");
    expect(named, 5, "5x7");
    expect(named, 0, "1x7");
    expect(batch_second, 9, "7x9x3");
    expect(two_inputs, 0, "4x3");
    expect(two_inputs, 16, "16x3"); /* the other input's size is no batch */
}

/* An exporter saw a batch of 2 and wrote 2 into the target of a Reshape. */
static void baked(struct onnxmake *m) {
    const char *x = onnxmake_input(m, "x", FLOAT, "2,3,8");

    ONNXMAKE_NODE(m, "Reshape", x, onnxmake_ints(m, 2, (const int64_t[]){2, 24}));
}

static void baked_open(struct onnxmake *m) {
    const char *x = onnxmake_input(m, "x", FLOAT, "2,3,8");

    ONNXMAKE_NODE(m, "Reshape", x, onnxmake_ints(m, 2, (const int64_t[]){2, -1}));
}

static void baked_product(struct onnxmake *m) {
    const char *x = onnxmake_input(m, "x", FLOAT, "2,3,8");

    ONNXMAKE_NODE(m, "Reshape", x, onnxmake_ints(m, 2, (const int64_t[]){6, 8}));
}

static void wrong_product(struct onnxmake *m) {
    const char *x = onnxmake_input(m, "x", FLOAT, "2,3,8");

    ONNXMAKE_NODE(m, "Reshape", x, onnxmake_ints(m, 2, (const int64_t[]){2, 25}));
}

Test(predict_shapes, a_batch_that_was_written_down) {
    expect(baked, 0, "2x24");
    expect(baked, 10, "10x24");
    expect(baked_open, 10, "10x24");
    expect(baked_product, 10, "30x8");
    expect(wrong_product, 10, "?");
    expect(wrong_product, 0, "?");
}

/* ---- sizes in the file
 * ------------------------------------------------------------------------ */

static void said(struct onnxmake *m, const char *sizes) {
    const char *v = ONNXMAKE_NODE(m, "Mystery", onnxmake_input(m, "x", FLOAT, "2,3"));

    onnxmake_info(m, v, FLOAT, sizes);
    ONNXMAKE_NODE(m, "Relu", v);
}

static void said_of_the_batch(struct onnxmake *m) {
    said(m, "2,12");
}

static void said_without_the_batch(struct onnxmake *m) {
    said(m, "24");
}

static void said_open(struct onnxmake *m) {
    said(m, "2,unheard_of");
}

static void said_wrongly(struct onnxmake *m) {
    const char *v = ONNXMAKE_NODE(m, "Relu", onnxmake_input(m, "x", FLOAT, "2,3"));

    onnxmake_info(m, v, FLOAT, "2,99");
    ONNXMAKE_NODE(m, "Relu", v);
}

Test(predict_shapes, the_file_is_asked_where_nobody_knows) {
    expect(said_of_the_batch, 0, "2x12");
    expect(said_of_the_batch, 6, "6x12");
    expect(said_without_the_batch, 0, "24");
    expect(said_without_the_batch, 6, "?"); /* 24 elements, for an unknown batch */
    expect(said_open, 0, "?");
    expect(said_wrongly, 0, "2x3");
}

/* ---- operators ---------------------------------------------------------------------------------
 */

static void layer_norm(struct onnxmake *m) {
    const char *x = onnxmake_input(m, "x", FLOAT, "N,5,8");

    ONNXMAKE_NODE(m, "LayerNormalization", x, onnxmake_weight(m, "8"));
    onnxmake_more(m);
}

static void dropout(struct onnxmake *m) {
    ONNXMAKE_NODE(m, "Dropout", onnxmake_input(m, "x", FLOAT, "N,5"));
    onnxmake_more(m);
}

static void squeeze_wrong(struct onnxmake *m) {
    const char *x = onnxmake_input(m, "x", FLOAT, "N,5,1");

    ONNXMAKE_NODE(m, "Squeeze", x, onnxmake_ints(m, 1, (const int64_t[]){1}));
}

static void gather_nd(struct onnxmake *m) {
    const char *x = onnxmake_input(m, "x", FLOAT, "N,5,8");

    ONNXMAKE_NODE(m, "GatherND", x, onnxmake_ints(m, 2, (const int64_t[]){0, 1}));
}

static void upsample(struct onnxmake *m) {
    const char *x = onnxmake_input(m, "x", FLOAT, "N,5,8,8");
    const char *to = onnxmake_ints(m, 4, (const int64_t[]){1, 5, 20, 12});

    ONNXMAKE_NODE(m, "Resize", x, "", "", to);
}

/* 10 * 0.7 is 7 in ONNX, which computes in single precision. */
static void resized(struct onnxmake *m) {
    const char *x = onnxmake_input(m, "x", FLOAT, "N,10");
    Onnx__TensorProto *scales = onnxmake_tensor(m, "scales", FLOAT, "2");

    scales->n_float_data = 2;
    scales->float_data = arena_calloc(m->arena, 2, sizeof(float));
    scales->float_data[0] = 1;
    scales->float_data[1] = 0.7F;
    m->graph.initializer[m->graph.n_initializer++] = scales;
    ONNXMAKE_NODE(m, "Resize", x, "", "scales");
}

static void depth_to_space(struct onnxmake *m) {
    ONNXMAKE_NODE(m, "DepthToSpace", onnxmake_input(m, "x", FLOAT, "N,8,4,6"));
    onnxmake_attr_int(m, "blocksize", 2);
}

static void ranged(struct onnxmake *m) {
    const char *x = onnxmake_input(m, "x", FLOAT, "N,tokens");
    const char *n = ONNXMAKE_NODE(m, "Gather", ONNXMAKE_NODE(m, "Shape", x), onnxmake_int(m, 1));

    ONNXMAKE_NODE(m, "Range", onnxmake_int(m, 1), n, onnxmake_int(m, 2));
}

/* As torch exports x.expand(-1, 4): Where(Equal(...)) of a ConstantOfShape. */
static void expanded(struct onnxmake *m) {
    const char *x = onnxmake_input(m, "x", FLOAT, "N,1");
    const char *want = onnxmake_ints(m, 2, (const int64_t[]){-1, 4});
    const char *two = onnxmake_ints(m, 1, (const int64_t[]){2}), *ones, *less, *is;
    Onnx__TensorProto *one = onnxmake_tensor(m, "", INT64, "1");
    static int64_t number = 1; /* must live until the model is packed */

    one->n_int64_data = 1;
    one->int64_data = &number;
    ones = ONNXMAKE_NODE(m, "ConstantOfShape", two);
    onnxmake_attr_tensor(m, "value", one);
    less = ONNXMAKE_NODE(m, "Mul", ones, onnxmake_int(m, -1));
    is = ONNXMAKE_NODE(m, "Equal", want, less);
    ONNXMAKE_NODE(m, "Expand", x, ONNXMAKE_NODE(m, "Where", is, ones, want));
}

static void quantized(struct onnxmake *m) {
    const char *x = onnxmake_input(m, "x", FLOAT, "N,5");

    ONNXMAKE_NODE(m, "QuantizeLinear", x, onnxmake_weight(m, ""));
}

/* Before opset 7: the second input is broadcast to the first from an axis on. */
static void old_bias(struct onnxmake *m) {
    const char *x = onnxmake_input(m, "x", FLOAT, "N,64,1,1");

    ONNXMAKE_NODE(m, "Add", x, onnxmake_weight(m, "64"));
    onnxmake_attr_int(m, "broadcast", 1);
    onnxmake_attr_int(m, "axis", 1);
}

/* proto3 writers omit a value of 0: the attribute has a type, and no number. */
static void axis_of_nothing(struct onnxmake *m) {
    ONNXMAKE_NODE(m, "Flatten", onnxmake_input(m, "x", FLOAT, "N,5,3"));
    onnxmake_attr_int(m, "axis", 0);
    onnxmake_last(m)->attribute[0]->has_i = false;
}

static void axis_of_another_kind(struct onnxmake *m) {
    ONNXMAKE_NODE(m, "Flatten", onnxmake_input(m, "x", FLOAT, "N,5,3"));
    onnxmake_attr_text(m, "axis", "2");
}

Test(predict_shapes, numbers_that_are_left_out) {
    expect(axis_of_nothing, 4, "1x60");
    expect(axis_of_another_kind, 4, "4x15");
}

Test(predict_shapes, operators) {
    expect(old_bias, 3, "3x64x1x1");
    expect(layer_norm, 3, "3x5x8");
    expect_output(layer_norm, 3, 1, "3x5x1");
    expect_output(dropout, 3, 1, "3x5");
    expect(squeeze_wrong, 1, "?");
    expect(gather_nd, 3, "8");
    expect(upsample, 1, "1x5x20x12");
    expect(resized, 3, "3x7");
    expect(depth_to_space, 3, "3x2x8x12");
    expect(ranged, 1, "3");
    expect(expanded, 6, "6x4");
    expect(quantized, 6, "6x5");
}

/* The table is searched by bisection: an operator out of order would not be found. */
Test(predict_shapes, every_operator_is_found) {
    static const char *const names[] = {
#define OP(name, shape, work, per_element, view) #name,
#include "daemon/predict/shape/ops.def"
#undef OP
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        cr_expect(ops_find(names[i]) && strcmp(ops_find(names[i])->name, names[i]) == 0, "%s",
                  names[i]);
    cr_expect_null(ops_find("Entmax"));
}

/* ---- absurd sizes -------------------------------------------------------------------------------
 */

static void expect_refused(make_fn make, int64_t batch, const char *part) {
    struct infer_options o = {.batch = batch};
    struct complaint why = {{0}};
    struct netgraph g;

    cr_expect_eq(infer(&g, make, &o, &why), -EINVAL, "%s", part);
    cr_expect(strstr(why.text, part), "%s: %s", part, why.text);
    netgraph_finish(&g);
}

static void tiled(struct onnxmake *m) {
    const char *x = onnxmake_input(m, "x", FLOAT, "N,1024,1024");

    ONNXMAKE_NODE(m, "Tile", x, onnxmake_ints(m, 3, (const int64_t[]){1, 1 << 20, 1 << 20}));
}

static void filled(struct onnxmake *m) {
    const char *n = onnxmake_ints(m, 3, (const int64_t[]){INT64_MAX, INT64_MAX, 2});

    ONNXMAKE_NODE(m, "ConstantOfShape", n);
}

static void padded(struct onnxmake *m) {
    const char *x = onnxmake_input(m, "x", FLOAT, "N");

    ONNXMAKE_NODE(m, "Pad", x, onnxmake_ints(m, 2, (const int64_t[]){INT64_MAX, INT64_MAX}));
}

static void large_input(struct onnxmake *m) {
    ONNXMAKE_NODE(m, "Relu", onnxmake_input(m, "x", FLOAT, "N,1048576,1048576"));
}

Test(predict_shapes, absurd_sizes_are_refused) {
    expect_refused(tiled, 1, "(Tile) would give 1x1073741824x1073741824, which is no tensor");
    expect_refused(filled, 1, "(ConstantOfShape) would give");
    expect_refused(padded, 1, "(Pad) would give");
    expect_refused(large_input, 1 << 20,
                   "the model's input 'x' has more elements than a tensor can have");
}
