/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that are no models, and invalid models: each complaint with its wording; deeply nested or
 * long parts are not followed.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/predict/features/measure.h"
#include "daemon/predict/onnx/bytes.h"
#include "daemon/predict/onnx/slim.h"
#include "test/lib/predict/onnxmake.h"

static int measure(const void *bytes, size_t count, const struct infer_options *o,
                   struct complaint *why) {
    struct features f;
    /* A copy of exactly this size, so that a sanitizer detects reads beyond it. */
    unsigned char *own = malloc(count + !count);
    int err;

    memcpy(own, bytes, count);
    err = measure_bytes(&f, own, count, o, why);
    free(own);
    return err;
}

static void expect_bad(const void *bytes, size_t count, const char *part) {
    struct infer_options o = {0};
    struct complaint why = {{0}};

    cr_expect_eq(measure(bytes, count, &o, &why), -EINVAL, "%s", part);
    cr_expect(strstr(why.text, part), "'%s' is not in: %s", part, why.text);
}

#define BAD(text, part) expect_bad(text, sizeof(text) - 1, part)

Test(predict_graph, files_that_are_no_models) {
    BAD("", "the file is empty: export one with torch.onnx.export");
    BAD("PK\3\4.....", "the file is a zip archive, as torch.save writes");
    BAD("{\"a\": 1}", "the file is text");
    BAD("\x89HDF\r\n\x1a\n...", "the file is HDF5");
    BAD("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        "the file is not an ONNX model (its bytes are no pro");
    BAD("\x08\x08", "the file is not an ONNX model (it has no graph): export one");
    BAD("\x3a\x00", "it has no graph");
    BAD("\x3a\x05\x0a", "its bytes are no protobuf"); /* longer than the file */
    BAD("\x38\x05", "'graph' is no message");         /* a number where a message belongs */
    BAD("\x3b\x3c", "its bytes are no protobuf");     /* a group */
    BAD("\x3a\x00\x3a\x00", "its 'graph' is there twice");
    BAD("\x12\x02\xff\xff\x08\x80", "its bytes are no p"); /* an unterminated number */
}

/* A graph in a graph, and so on: 3 bytes for each level. */
static size_t nest(unsigned char *out, size_t cap, unsigned deep) {
    size_t at = cap, length = 0;
    static const unsigned char tags[] = {0x0a, 0x2a, 0x32}; /* node, attribute, g */

    for (unsigned i = 0; i < deep; i++) {
        size_t n = length;
        unsigned char head[6], count = 0;

        head[count++] = i + 1 == deep ? 0x3a : tags[2 - i % 3];
        do {
            head[count++] = (unsigned char)((n & 0x7f) | (n > 0x7f ? 0x80 : 0));
            n >>= 7;
        } while (n);
        at -= count;
        memcpy(out + at, head, count);
        length = cap - at;
    }
    memmove(out, out + at, length);
    return length;
}

Test(predict_graph, what_lies_deep_is_refused) {
    static unsigned char bytes[1 << 20];
    size_t count = nest(bytes, sizeof(bytes), 100000);

    expect_bad(bytes, count, "more than 64 deep");
}

/* Bodies within bodies: the reader stops at its depth limit. */
static void deep_bodies(struct onnxmake *m) {
    static Onnx__GraphProto bodies[NETGRAPH_BODIES_MAX + 1];

    for (unsigned i = 0; i <= NETGRAPH_BODIES_MAX; i++) {
        onnx__graph_proto__init(&bodies[i]);
        onnxmake_node(m, "If", NULL, NULL, 0);
        if (i) onnxmake_attr_graph(m, "then_branch", &bodies[i - 1]);
        bodies[i].n_node = 1;
        bodies[i].node = &m->graph.node[i];
    }
    onnxmake_node(m, "If", NULL, NULL, 0);
    onnxmake_attr_graph(m, "then_branch", &bodies[NETGRAPH_BODIES_MAX]);
}

/* Weights cost nothing: of ten million bytes in the file, only some hundred are read. */
Test(predict_graph, weights_are_not_read) {
    struct complaint why = {{0}};
    struct onnxmake m;
    struct buf file, slim;
    Onnx__TensorProto *t;

    onnxmake_init(&m);
    buf_init(&file);
    buf_init(&slim);
    onnxmake_weight(&m, "2500000");
    t = m.graph.initializer[0];
    t->has_raw_data = true;
    t->raw_data.len = 10000000;
    t->raw_data.data = calloc(1, t->raw_data.len);
    ONNXMAKE_NODE(&m, "Relu", onnxmake_input(&m, "x", 1, "N,3"));
    onnxmake_bytes(&m, &file);
    cr_expect_eq(slim_model(file.data, file.len, &slim, &why), 0, "%s", why.text);
    cr_expect_lt(slim.len, 500);
    free(t->raw_data.data);
    onnxmake_finish(&m);
    buf_finish(&file);
    buf_finish(&slim);
}

/* A node of two bytes takes a hundred in memory: a file full of them is rejected before that. */
Test(predict_graph, memory_is_bounded) {
    size_t count = 24 << 20;
    unsigned char *bytes = malloc(count + 5);
    struct infer_options o = {0};
    struct complaint why = {{0}};
    struct features f;

    bytes[0] = 0x3a;
    for (int i = 0; i < 4; i++)
        bytes[1 + i] = (unsigned char)((count >> 7 * i & 0x7f) | (i < 3 ? 0x80 : 0));
    for (size_t i = 0; i < count; i += 2)
        memcpy(bytes + 5 + i, "\x0a\x00", 2);
    cr_expect_neq(measure_bytes(&f, bytes, count + 5, &o, &why), 0);
    cr_expect(strstr(why.text, "without its weights the model still has more than 64 MiB"), "%s",
              why.text);
    for (size_t i = 0; i < count; i++)
        if (i >= (8 << 20)) bytes[5 + i] = 0;
    count = 8 << 20;
    for (int i = 0; i < 4; i++)
        bytes[1 + i] = (unsigned char)((count >> 7 * i & 0x7f) | (i < 3 ? 0x80 : 0));
    cr_expect_eq(measure_bytes(&f, bytes, count + 5, &o, &why), -ENOMEM);
    cr_expect(strstr(why.text, "more memory"), "%s", why.text);
    free(bytes);
}

/* A graph of one empty node, repeated: merging them all would take minutes. */
Test(predict_graph, what_is_there_again_and_again, .timeout = 20) {
    size_t count = 4 * (size_t)262144;
    char *bytes = malloc(count);

    for (size_t i = 0; i < count; i += 4)
        memcpy(bytes + i, "\x3a\x02\x0a\x00", 4);
    expect_bad(bytes, count, "its 'graph' is there twice");
    free(bytes);
}

static void says_two_bodies(struct onnxmake *m) {
    ONNXMAKE_NODE(m, "If", onnxmake_input(m, "x", 1, "N"));
    onnxmake_attr_graph(m, "then_branch", arena_calloc(m->arena, 1, sizeof(Onnx__GraphProto)));
    onnx__graph_proto__init(onnxmake_last(m)->attribute[0]->g);
    onnxmake_attr_graph(m, "else_branch", onnxmake_last(m)->attribute[0]->g);
}

/* Once in each message that can contain one. */
Test(predict_graph, each_message_has_its_own) {
    struct infer_options o = {0};
    struct complaint why = {{0}};
    struct onnxmake m;
    struct buf b;

    onnxmake_init(&m);
    says_two_bodies(&m);
    buf_init(&b);
    onnxmake_bytes(&m, &b);
    cr_expect_eq(measure(b.data, b.len, &o, &why), 0, "%s", why.text);
    buf_finish(&b);
    onnxmake_finish(&m);
}

/* ---- models that are wrong --------------------------------------------------------------------
 */

static void expect_wrong(void (*make)(struct onnxmake *), const char *part) {
    struct onnxmake m;
    struct buf b;

    onnxmake_init(&m);
    make(&m);
    buf_init(&b);
    onnxmake_bytes(&m, &b);
    expect_bad(b.data, b.len, part);
    buf_finish(&b);
    onnxmake_finish(&m);
}

static void reads_nothing(struct onnxmake *m) {
    onnxmake_input(m, "x", 1, "N,3");
    ONNXMAKE_NODE(m, "Relu", "y\n");
}

static void no_operator(struct onnxmake *m) {
    ONNXMAKE_NODE(m, "", onnxmake_input(m, "x", 1, "N,3"));
}

static void unnamed_size(struct onnxmake *m) {
    ONNXMAKE_NODE(m, "Relu", onnxmake_input(m, "x", 1, "N,0"));
}

static void named_size(struct onnxmake *m) {
    ONNXMAKE_NODE(m, "Relu", onnxmake_input(m, "x", 1, "N,tokens"));
}

static void many_axes(struct onnxmake *m) {
    ONNXMAKE_NODE(m, "Relu", onnxmake_weight(m, "1,1,1,1,1,1,1,1,1"));
}

static void negative_weight(struct onnxmake *m) {
    ONNXMAKE_NODE(m, "Relu", onnxmake_weight(m, "4,-1"));
}

static void huge_weight(struct onnxmake *m) {
    ONNXMAKE_NODE(m, "Relu", onnxmake_weight(m, "4611686018427387904,4611686018427387904"));
}

static void too_small(struct onnxmake *m) {
    ONNXMAKE_NODE(m, "Conv", onnxmake_input(m, "x", 1, "N,3,2,2"), onnxmake_weight(m, "1,3,5,5"));
}

Test(predict_graph, models_that_are_wrong) {
    expect_wrong(reads_nothing, "reads 'y?', which nothing before it makes: check the file with");
    expect_wrong(no_operator, "does not say what it computes");
    expect_wrong(unnamed_size, "the model's input 'x' has no size in axis 1");
    expect_wrong(named_size,
                 "has a size 'tokens' without a value: give it with --dim tokens=NUMBER");
    expect_wrong(many_axes, "has 9 dimensions: 8 are read");
    expect_wrong(negative_weight, "sizes that no tensor has");
    expect_wrong(huge_weight, "sizes that no tensor has");
    expect_wrong(deep_bodies, "its graphs lie more than 16 deep");
    expect_wrong(too_small, "(Conv) would give 1x1x-1x-1, which is no tensor");
}

/* ---- files ------------------------------------------------------------------------------------
 */

static void expect_no_file(const char *path, size_t max, const char *part) {
    struct complaint why = {{0}};
    unsigned char *bytes;
    size_t count;

    cr_expect_eq(bytes_read(path, max, &bytes, &count, &why), -EINVAL, "%s", path);
    cr_expect_null(bytes);
    cr_expect(strstr(why.text, part), "%s: %s", path, why.text);
}

Test(predict_graph, files) {
    char folder[] = "/tmp/predict.XXXXXX", path[64];
    struct complaint why = {{0}};
    unsigned char *bytes;
    size_t count;
    FILE *f;

    cr_assert(mkdtemp(folder));
    expect_no_file(folder, 100, "this is a directory: give the file");
    expect_no_file("/dev/zero", 100, "this is not a regular file");
    snprintf(path, sizeof(path), "%s/x", folder);
    expect_no_file(path, 100, "No such file");
    cr_assert_eq(mkfifo(path, 0600), 0);
    /* the reader does not wait for a writer of the FIFO */
    expect_no_file(path, 100, "this is not a regular file");
    unlink(path);
    f = fopen(path, "w");
    cr_assert(f && fputs("twelve bytes", f) >= 0 && fclose(f) == 0);
    expect_no_file(path, 11, "the file has more than 0 MiB");
    cr_assert_eq(bytes_read(path, 12, &bytes, &count, &why), 0, "%s", why.text);
    cr_expect_eq(count, 12);
    cr_expect_str_eq((char *)bytes, "twelve bytes");
    free(bytes);
    unlink(path);
    rmdir(folder);
}
