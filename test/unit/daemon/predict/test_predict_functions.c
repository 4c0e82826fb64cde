/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of a model file. Each call is replaced by the function's nodes, with the call's
 * attributes and values of its own. Also functions that are invalid, or would never end.
 * check-predict compares random ones with onnx's own inference.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/predict/features/measure.h"
#include "daemon/predict/onnx/amounts.h"
#include "daemon/predict/onnx/model.h"
#include "daemon/predict/shape/infer.h"
#include "test/lib/predict/onnxmake.h"

#define FLOAT 1

typedef void (*make_fn)(struct onnxmake *m);

static void write_model(make_fn make, struct buf *out) {
    struct onnxmake m;

    onnxmake_init(&m);
    make(&m);
    buf_init(out);
    onnxmake_bytes(&m, out);
    onnxmake_finish(&m);
}

static void take_shapes(struct netgraph *g, make_fn make) {
    struct infer_options o = {0};
    struct complaint why = {{0}};
    struct buf b;
    int64_t batch;

    write_model(make, &b);
    cr_assert_eq(model_read(g, b.data, b.len, &why), 0, "%s", why.text);
    cr_assert_eq(infer_shapes(g, &o, &batch, &why), 0, "%s", why.text);
    buf_finish(&b);
}

static void expect_value(const struct netgraph *g, const char *name, const char *sizes) {
    char text[SHAPE_TEXT_BYTES] = "no such value";

    for (uint32_t i = 0; i < g->values_count; i++) {
        const struct value *v = &g->values[i];

        if (strcmp(v->name, name) != 0) continue;
        if (v->shape.known)
            shape_print(&v->shape, text);
        else
            snprintf(text, sizeof(text), "?");
    }
    cr_expect_str_eq(text, sizes, "%s: %s, not %s", name, text, sizes);
}

/* ---- expansion of calls ---------------------------------------------------------------------- */

/* A block that keeps the size, or halves it where its caller says so. */
static void make_block(struct onnxmake *m) {
    onnxmake_node(m, "MaxPool", "x", (const char *[]){"t"}, 1);
    onnxmake_attr_ints(m, "kernel_shape", "1,1");
    onnxmake_attr_ref(m, "strides", "by");
    onnxmake_node(m, "Relu", "y", (const char *[]){"x"}, 1);
    onnxmake_function(m, "Block", "t", "y", 2);
}

static void two_calls(struct onnxmake *m) {
    make_block(m);
    onnxmake_input(m, "x", FLOAT, "2,3,8,8");
    onnxmake_node(m, "Block", "same", (const char *[]){"x"}, 1);
    onnxmake_node(m, "Block", "half", (const char *[]){"same"}, 1);
    onnxmake_attr_ints(m, "by", "2,2");
    onnxmake_node(m, "Neg", "y", (const char *[]){"half"}, 1);
    onnxmake_node(m, "Neg", "still", (const char *[]){"same"}, 1);
    /* the function has an x of its own, too */
    onnxmake_node(m, "Neg", "again", (const char *[]){"x"}, 1);
}

Test(predict_functions, each_call_has_its_own_values) {
    struct netgraph g;

    take_shapes(&g, two_calls);
    cr_expect_eq(g.nodes_count, 7);
    cr_expect_eq(g.calls_count, 2);
    expect_value(&g, "same", "2x3x8x8");
    expect_value(&g, "half", "2x3x4x4");
    expect_value(&g, "y", "2x3x4x4");
    expect_value(&g, "still", "2x3x8x8");
    expect_value(&g, "again", "2x3x8x8");
    netgraph_finish(&g);
}

/* A call may omit an attribute for which the function has a default; the default's value is not
 * used. Only attributes declared without a default are passed to the operator. */
static void with_a_default(struct onnxmake *m) {
    make_block(m);
    m->model.functions[0]->n_attribute = 0;
    onnxmake_input(m, "x", FLOAT, "2,3,8,8");
    onnxmake_node(m, "Block", "unsaid", (const char *[]){"x"}, 1);
    onnxmake_node(m, "Block", "said", (const char *[]){"x"}, 1);
    onnxmake_attr_ints(m, "by", "2,2");
}

Test(predict_functions, defaults_of_functions_are_not_guessed) {
    struct netgraph g;

    take_shapes(&g, with_a_default);
    expect_value(&g, "unsaid", "?");
    expect_value(&g, "said", "2x3x4x4");
    netgraph_finish(&g);
}

/* An attribute goes through two calls under three names. */
static void nested(struct onnxmake *m) {
    make_block(m);
    onnxmake_node(m, "Block", "a", (const char *[]){"in"}, 1);
    onnxmake_attr_ref(m, "by", "outer_by");
    onnxmake_node(m, "Block", "b", (const char *[]){"a"}, 1);
    onnxmake_function(m, "Twice", "in", "a,b", 2);
    onnxmake_input(m, "x", FLOAT, "2,3,8,8");
    onnxmake_node(m, "Twice", "p", (const char *[]){"x"}, 1);
    onnxmake_attr_ints(m, "outer_by", "4,2");
    onnxmake_more(m);
}

Test(predict_functions, functions_call_functions) {
    struct netgraph g;

    take_shapes(&g, nested);
    cr_expect_eq(g.nodes_count, 4);
    expect_value(&g, "p", "2x3x2x4");
    cr_expect_eq(netgraph_output(&g, &g.nodes[3], 0)->shape.dim[3], 4);
    netgraph_finish(&g);
}

/* The second input is omitted, or an empty name; either way the convolution has no bias. */
static void without_a_bias(struct onnxmake *m) {
    onnxmake_node(m, "Conv", "out", (const char *[]){"x", "w", "bias"}, 3);
    onnxmake_function(m, "Own", "x,w,bias", "out", 1);
    const char *w = onnxmake_weight(m, "4,3,3,3");

    onnxmake_input(m, "x", FLOAT, "1,3,8,8");
    onnxmake_node(m, "Own", "short", (const char *[]){"x", w}, 2);
    onnxmake_node(m, "Own", "empty", (const char *[]){"x", w, ""}, 3);
    onnxmake_node(m, "Own", "full", (const char *[]){"x", w, onnxmake_weight(m, "4")}, 3);
}

Test(predict_functions, inputs_may_be_left_out) {
    struct netgraph g;

    take_shapes(&g, without_a_bias);
    cr_assert_eq(g.nodes_count, 3);
    expect_value(&g, "short", "1x4x6x6");
    cr_expect_null(netgraph_input(&g, &g.nodes[0], 2));
    cr_expect_null(netgraph_input(&g, &g.nodes[1], 2));
    cr_expect_not_null(netgraph_input(&g, &g.nodes[2], 2));
    netgraph_finish(&g);
}

/* The output is the input, under another name. */
static void passes_through(struct onnxmake *m) {
    onnxmake_node(m, "Relu", "y", (const char *[]){"x"}, 1);
    onnxmake_function(m, "Both", "x", "x,y", 1);
    onnxmake_input(m, "x", FLOAT, "5,3");
    onnxmake_node(m, "Both", "p", (const char *[]){"x"}, 1);
    onnxmake_more(m);
    onnxmake_node(m, "Neg", "q", (const char *[]){"p"}, 1);
}

Test(predict_functions, what_comes_in_may_go_out) {
    struct netgraph g;

    take_shapes(&g, passes_through);
    expect_value(&g, "q", "5x3");
    expect_value(&g, "x", "5x3");
    netgraph_finish(&g);
}

/* The same model by hand and by functions. */
static void by_hand(struct onnxmake *m) {
    const char *w = onnxmake_weight(m, "8,8"), *b = onnxmake_weight(m, "8");
    const char *x = onnxmake_input(m, "x", FLOAT, "4,8");

    for (int i = 0; i < 2; i++) {
        x = ONNXMAKE_NODE(m, "MatMul", x, w);
        x = ONNXMAKE_NODE(m, "Add", x, b);
        x = ONNXMAKE_NODE(m, "Relu", x);
    }
}

static void by_functions(struct onnxmake *m) {
    const char *w = onnxmake_weight(m, "8,8"), *b = onnxmake_weight(m, "8");
    const char *x = onnxmake_input(m, "x", FLOAT, "4,8");

    onnxmake_node(m, "MatMul", "u", (const char *[]){"x", "w"}, 2);
    onnxmake_node(m, "Add", "v", (const char *[]){"u", "b"}, 2);
    onnxmake_node(m, "Relu", "y", (const char *[]){"v"}, 1);
    onnxmake_function(m, "Dense", "x,w,b", "y", 3);
    for (int i = 0; i < 2; i++)
        x = ONNXMAKE_NODE(m, "Dense", x, w, b);
}

static struct features features_of(make_fn make) {
    struct infer_options o = {0};
    struct complaint why = {{0}};
    struct features f;
    struct buf b;

    write_model(make, &b);
    cr_assert_eq(measure_bytes(&f, b.data, b.len, &o, &why), 0, "%s", why.text);
    buf_finish(&b);
    return f;
}

Test(predict_functions, features_are_those_of_the_nodes) {
    struct features a = features_of(by_hand), b = features_of(by_functions);

    cr_expect_gt(a.flops, 0);
    cr_expect_eq(a.flops, b.flops);
    cr_expect_eq(a.nodes, b.nodes);
    cr_expect_eq(a.unknown + b.unknown, 0);
    cr_expect_eq(a.activations_bytes, b.activations_bytes);
    cr_expect_eq(a.gradients_bytes, b.gradients_bytes);
    cr_expect_eq(memcmp(a.counts, b.counts, sizeof(a.counts)), 0);
}

/* ---- rejected models ------------------------------------------------------------------------- */

static void expect_wrong(make_fn make, const char *part) {
    struct infer_options o = {0};
    struct complaint why = {{0}};
    struct features f;
    struct buf b;

    write_model(make, &b);
    cr_expect_eq(measure_bytes(&f, b.data, b.len, &o, &why), -EINVAL, "%s", part);
    cr_expect(strstr(why.text, part), "'%s' is not in: %s", part, why.text);
    buf_finish(&b);
}

static void call(struct onnxmake *m, const char *op) {
    onnxmake_input(m, "x", FLOAT, "5,3");
    onnxmake_node(m, op, "y", (const char *[]){"x"}, 1);
}

static void calls_itself(struct onnxmake *m) {
    onnxmake_node(m, "A", "b", (const char *[]){"a"}, 1);
    onnxmake_function(m, "A", "a", "b", 1);
    call(m, "A");
}

static void calls_in_a_circle(struct onnxmake *m) {
    onnxmake_node(m, "B", "b", (const char *[]){"a"}, 1);
    onnxmake_function(m, "A", "a", "b", 1);
    onnxmake_node(m, "A", "b", (const char *[]){"a"}, 1);
    onnxmake_function(m, "B", "a", "b", 1);
    call(m, "B");
}

/* f0 is a Relu; each other function calls the one before it `times` times, one after the other. */
static void chain(struct onnxmake *m, unsigned length, unsigned times) {
    char name[16], of[16] = "Relu";

    for (unsigned i = 0; i < length; i++) {
        onnxmake_node(m, of, "b0", (const char *[]){"a"}, 1);
        for (unsigned k = 1; k < times; k++)
            onnxmake_node(m, of, k % 2 ? "b1" : "b0", (const char *[]){k % 2 ? "b0" : "b1"}, 1);
        snprintf(name, sizeof(name), "f%u", i);
        onnxmake_function(m, name, "a", times % 2 ? "b0" : "b1", (int)times);
        memcpy(of, name, sizeof(of));
    }
    call(m, of);
}

static void deep(struct onnxmake *m) {
    chain(m, NETGRAPH_CALLS_MAX + 1, 1);
}

static void just_deep_enough(struct onnxmake *m) {
    chain(m, NETGRAPH_CALLS_MAX, 1);
}

/* A function's depth is known before a call from deep inside. */
static void deep_in_two_pieces(struct onnxmake *m) {
    chain(m, NETGRAPH_CALLS_MAX, 1);
    onnxmake_node(m, "f31", "b", (const char *[]){"a"}, 1);
    onnxmake_function(m, "more", "a", "b", 1);
    onnxmake_node(m, "more", "z", (const char *[]){"x"}, 1);
}

static void without_an_end(struct onnxmake *m) {
    chain(m, NETGRAPH_CALLS_MAX, 2);
}

/* Adds that many attributes to the last node, each with that name. */
static void say_much(struct onnxmake *m, unsigned count, const char *name) {
    Onnx__NodeProto *n = onnxmake_last(m);
    Onnx__AttributeProto *a = arena_calloc(m->arena, count, sizeof(*a));

    n->n_attribute = count;
    n->attribute = arena_calloc(m->arena, count, sizeof(*n->attribute));
    for (unsigned i = 0; i < count; i++) {
        onnx__attribute_proto__init(&a[i]);
        a[i].name = (char *)name;
        n->attribute[i] = &a[i];
    }
}

static char long_name[AMOUNTS_NAME_BYTES + 2];

static char *name_of(size_t bytes) {
    memset(long_name, 'n', bytes);
    long_name[bytes] = '\0';
    return long_name;
}

/* One node in the file is expanded 2^18 times. */
static void repeated(struct onnxmake *m, unsigned attributes, size_t bytes) {
    onnxmake_node(m, "Conv", "b", (const char *[]){"a"}, 1);
    say_much(m, attributes, name_of(bytes));
    onnxmake_function(m, "g", "a", "b", 1);
    for (unsigned i = 0; i < 18; i++) {
        char name[16], of[16] = "g";

        if (i) snprintf(of, sizeof(of), "g%u", i - 1);
        onnxmake_node(m, of, "b0", (const char *[]){"a"}, 1);
        onnxmake_node(m, of, "b1", (const char *[]){"b0"}, 1);
        snprintf(name, sizeof(name), "g%u", i);
        onnxmake_function(m, name, "a", "b1", 2);
    }
    call(m, "g17");
}

static void many_attributes(struct onnxmake *m) {
    repeated(m, 100000, 0);
}

static void long_attributes(struct onnxmake *m) {
    repeated(m, 1, AMOUNTS_NAME_BYTES + 1);
}

static void attributes_often(struct onnxmake *m) {
    repeated(m, AMOUNTS_ATTRIBUTES_MAX, 8);
}

static void long_operator(struct onnxmake *m) {
    repeated(m, 1, 0);
    m->model.functions[0]->node[0]->op_type = name_of(AMOUNTS_NAME_BYTES + 1);
}

static void long_input(struct onnxmake *m) {
    call(m, "Relu");
    onnxmake_last(m)->input[0] = name_of(AMOUNTS_NAME_BYTES + 1);
}

/* The call's own attributes: each node of the function may refer to them. */
static void callers_attributes(struct onnxmake *m) {
    repeated(m, 0, 0);
    say_much(m, AMOUNTS_ATTRIBUTES_MAX, "attributes");
}

static void as_much_as_may_be(struct onnxmake *m) {
    call(m, "Relu");
    say_much(m, AMOUNTS_ATTRIBUTES_MAX, name_of(AMOUNTS_NAME_BYTES));
}

static void reads_the_callers(struct onnxmake *m) {
    onnxmake_node(m, "Add", "b", (const char *[]){"a", "x"}, 2);
    onnxmake_function(m, "A", "a", "b", 1);
    call(m, "A");
}

static void reads_after_the_call(struct onnxmake *m) {
    onnxmake_node(m, "Relu", "b", (const char *[]){"a"}, 1);
    onnxmake_function(m, "A", "a", "b", 1);
    call(m, "A");
    onnxmake_node(m, "Relu", "z", (const char *[]){"b"}, 1);
}

static void makes_nothing(struct onnxmake *m) {
    onnxmake_node(m, "Relu", "b", (const char *[]){"a"}, 1);
    onnxmake_function(m, "A", "a", "c", 1);
    call(m, "A");
}

static void takes_too_much(struct onnxmake *m) {
    onnxmake_node(m, "Relu", "b", (const char *[]){"a"}, 1);
    onnxmake_function(m, "A", "a", "b", 1);
    onnxmake_input(m, "x", FLOAT, "5,3");
    onnxmake_node(m, "A", "y", (const char *[]){"x", "x"}, 2);
}

static void two_of_a_name(struct onnxmake *m) {
    onnxmake_node(m, "Relu", "b", (const char *[]){"a"}, 1);
    onnxmake_function(m, "A", "a", "b", 1);
    onnxmake_node(m, "Neg", "b", (const char *[]){"a"}, 1);
    onnxmake_function(m, "A", "a", "b", 1);
    m->model.functions[1]->domain = "ai.onnx";
    call(m, "A");
}

Test(predict_functions, functions_that_are_wrong) {
    expect_wrong(calls_itself, "its function 'A' calls itself");
    expect_wrong(calls_in_a_circle, "calls itself");
    expect_wrong(deep, "its functions call each other more than 32 deep");
    expect_wrong(deep_in_two_pieces, "its functions call each other more than 32 deep");
    expect_wrong(without_an_end, "with its functions the model has more than 1048576 nodes");
    expect_wrong(many_attributes, "has 100000 attributes: no more than 256 are read");
    expect_wrong(long_attributes, "has a name of more than 4096 bytes: 'nnnn");
    expect_wrong(long_operator, "has a name of more than 4096 bytes: 'nnnn");
    expect_wrong(long_input, "has a name of more than 4096 bytes: 'nnnn");
    expect_wrong(attributes_often, "the model has more than 512 MiB of names and attributes");
    expect_wrong(callers_attributes, "the model has more than 512 MiB of names and attributes");
    expect_wrong(reads_the_callers, "reads 'x', which nothing before it makes");
    expect_wrong(reads_after_the_call, "reads 'b', which nothing before it makes");
    expect_wrong(makes_nothing, "its function 'A' does not make its 'c'");
    expect_wrong(takes_too_much, "gives or takes more than its function 'A' does");
    expect_wrong(two_of_a_name, "it has two functions 'A'");
}

static void other_domain(struct onnxmake *m) {
    onnxmake_node(m, "Flatten", "b", (const char *[]){"a"}, 1);
    onnxmake_function(m, "A", "a", "b", 1);
    m->model.functions[0]->domain = "own";
    onnxmake_input(m, "x", FLOAT, "5,3,2");
    onnxmake_node(m, "A", "y", (const char *[]){"x"}, 1);
    onnxmake_node(m, "A", "z", (const char *[]){"x"}, 1);
    onnxmake_last(m)->domain = "own";
}

Test(predict_functions, names_are_those_of_a_domain) {
    struct netgraph g;

    take_shapes(&g, other_domain);
    expect_value(&g, "y", "?");
    expect_value(&g, "z", "5x6");
    netgraph_finish(&g);
}

Test(predict_functions, as_deep_as_may_be) {
    struct features f = features_of(just_deep_enough);

    cr_expect_eq(f.nodes, 1);
    cr_expect_eq(f.unknown, 0);
    f = features_of(as_much_as_may_be);
    cr_expect_eq(f.unknown, 0);
}
