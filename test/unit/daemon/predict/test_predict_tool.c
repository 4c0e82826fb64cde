/* SPDX-License-Identifier: Apache-2.0
 *
 * salus-predict and salus-predict-train without their main functions, on files: the first predicts
 * what the second learned. check-predict runs them as processes of salusctl.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/predict/tool/predict.h"
#include "daemon/predict/tool/train.h"
#include "test/lib/predict/onnxmake.h"

#define PATH_BYTES 64

struct said {
    char *text; /* output of both streams */
    int status;
};

static struct said run(int (*tool)(FILE *, FILE *, char **), const char *const *argv) {
    struct said s = {0};
    char *own[16] = {(char[]){"tool"}}; /* option parsing writes into them */
    size_t bytes;
    FILE *f = open_memstream(&s.text, &bytes);

    for (int i = 0; argv[i]; i++)
        own[1 + i] = strdup(argv[i]);
    s.status = tool(f, f, own);
    cr_assert_eq(fclose(f), 0);
    for (int i = 1; own[i]; i++)
        free(own[i]);
    return s;
}
#define RUN(tool, ...) run((tool), (const char *const[]){__VA_ARGS__, NULL})

static void expect_said(struct said s, int status, const char *part) {
    cr_expect_eq(s.status, status, "%s", s.text);
    cr_expect(strstr(s.text, part), "'%s' is not in: %s", part, s.text);
    free(s.text);
}

/* ---- files in a folder of the test's own ------------------------------------------------------
 */

static char folder[PATH_BYTES], model[2 * PATH_BYTES], table[2 * PATH_BYTES],
    learned[2 * PATH_BYTES];

static void write_bytes(const char *path, const void *bytes, size_t count) {
    FILE *f = fopen(path, "w");

    cr_assert(f && fwrite(bytes, 1, count, f) == count && fclose(f) == 0, "%s", path);
}

/* 2 x 3 by 3 x 5: parameters of 60 bytes; activations of 40, gradients of 100, inputs of 24. */
static void set_up(void) {
    struct onnxmake m;
    struct buf b;

    strcpy(folder, "/tmp/predict-tool.XXXXXX");
    cr_assert(mkdtemp(folder));
    snprintf(model, sizeof(model), "%s/\xff.onnx", folder);
    snprintf(table, sizeof(table), "%s/table.csv", folder);
    snprintf(learned, sizeof(learned), "%s/made.json", folder);
    onnxmake_init(&m);
    ONNXMAKE_NODE(&m, "Gemm", onnxmake_input(&m, "x", 1, "N,3"), onnxmake_weight(&m, "3,5"));
    buf_init(&b);
    onnxmake_bytes(&m, &b);
    write_bytes(model, b.data, b.len);
    buf_finish(&b);
    onnxmake_finish(&m);
}

static void tear_down(void) {
    unlink(model);
    unlink(table);
    unlink(learned);
    rmdir(folder);
}

TestSuite(predict_tool, .init = set_up, .fini = tear_down);

/* Trains on two families of two rows, with the same optimiser. */
static void learn(const char *optimiser) {
    char text[512];

    snprintf(text, sizeof(text),
             "family,device,model,batch,optimiser,utilisation,persistent_bytes,ephemeral_bytes\n"
             "a,made,\xff.onnx,2,%s,0.5,1120,264\na,made,\xff.onnx,2,%s,0.6,1120,264\n"
             "b,made,\xff.onnx,2,%s,0.5,1120,264\nb,made,\xff.onnx,2,%s,0.6,1120,264\n",
             optimiser, optimiser, optimiser, optimiser);
    write_bytes(table, text, strlen(text));
}

/* ---- tests ------------------------------------------------------------------------------------
 */

/* The file's name contains bytes that are invalid UTF-8. */
Test(predict_tool, an_answer_is_json_whatever_the_file_is_called) {
    struct said s = RUN(predict_main, "--json", "--device", "none", model);

    cr_expect(strstr(s.text, "/?.onnx\""), "%s", s.text);
    cr_expect_null(strchr(s.text, 0xff));
    free(s.text);
}

/* delta is the measured memory beyond that of equation (2) for the model with that optimiser. */
Test(predict_tool, overhead_is_learned_of_models) {
    learn("momentum");
    expect_said(RUN(train_main, table, "-o", learned), 0, "4 measurements on made, 2 families");
    expect_said(RUN(predict_main, "--json", "--predictor", learned, model), 0,
                "\"delta_bytes\":1000,");
    expect_said(RUN(predict_main, "--json", "--predictor", learned, model), 0,
                "\"ephemeral_delta_bytes\":100,");
    learn("");
    expect_said(RUN(train_main, table, "-o", learned), 0, "4 measurements");
    expect_said(RUN(predict_main, "--json", "--predictor", learned, model), 0,
                "\"delta_bytes\":1060,");
    learn("best");
    expect_said(RUN(train_main, table, "-o", learned), 1, "line 2: 'best' is not an optimiser");
}

/* A predictor names its device; a caller may still call the device otherwise. */
Test(predict_tool, a_predictor_is_of_its_device) {
    learn("sgd");
    expect_said(RUN(train_main, table, "-o", learned), 0, "on made");
    expect_said(RUN(predict_main, "--predictor", learned, model), 0, "batch 1, on made: ");
    expect_said(RUN(predict_main, "--json", "--predictor", learned, model), 0,
                "\"device\":\"made\"");
    expect_said(RUN(predict_main, "--predictor", learned, "--device", "like-it", model), 0,
                "batch 1, on like-it: ");
    expect_said(RUN(predict_main, "--device", "none", model), 0,
                "the predictor has no measurements of the device 'none'");
    expect_said(RUN(predict_main, model), 0, "batch 1, on soft: ");
}
