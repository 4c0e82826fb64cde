/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of measurements, training, and the predictor's file. Trees give the same as XGBoost,
 * errors are those of left-out families, and an invalid file of another writer is rejected.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/predict/learn/assess.h"
#include "daemon/predict/learn/boost.h"
#include "daemon/predict/learn/linear.h"
#include "daemon/predict/learn/predictor_read.h"
#include "daemon/predict/learn/predictor_write.h"

#define ROWS 120u

static void write_file(char *path, const char *text) {
    int fd;

    strcpy(path, "/tmp/predict-learn.XXXXXX");
    fd = mkstemp(path);
    cr_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && close(fd) == 0);
}

/* ---- tables -----------------------------------------------------------------------------------
 */

static char *with_columns(const char *line) {
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);

    fputs("family,device,utilisation", f);
    for (unsigned i = 0; i < COLUMNS; i++)
        fprintf(f, ",%s", columns_name(i));
    fprintf(f, "\n%s", line);
    for (unsigned i = 0; i < COLUMNS; i++)
        fprintf(f, ",%u", i + 1);
    fputc('\n', f);
    cr_assert_eq(fclose(f), 0);
    return text;
}

static int read_rows(struct rows *r, const char *text, const char *device, struct complaint *why) {
    char path[64];
    int err;

    write_file(path, text);
    *why = (struct complaint){{0}};
    err = rows_read(r, path, device, why);
    unlink(path);
    return err;
}

static void expect_bad_table(const char *text, const char *device, const char *part) {
    struct complaint why;
    struct rows r;

    cr_expect_eq(read_rows(&r, text, device, &why), -EINVAL, "%s", text);
    cr_expect(strstr(why.text, part), "'%s' is not in: %s", part, why.text);
    rows_finish(&r);
}

static void expect_bad_line(const char *line, const char *part) {
    char *text = with_columns(line);

    expect_bad_table(text, NULL, part);
    free(text);
}

Test(predict_learn, tables) {
    char *text = with_columns("vgg,soft,0.25");
    struct complaint why;
    struct rows r;

    cr_assert_eq(read_rows(&r, text, NULL, &why), 0, "%s", why.text);
    cr_expect_eq(r.count, 1);
    cr_expect_str_eq(r.families[0], "vgg");
    cr_expect_str_eq(r.device, "soft");
    cr_expect_eq(r.utilisation[0], 0.25);
    for (unsigned i = 0; i < COLUMNS; i++)
        cr_expect_float_eq(r.x[0].x[i], log(2 + i), 1e-5, "%s", columns_name(i));
    rows_finish(&r);
    expect_bad_table(text, "v100", "no line is of the device 'v100'");
    free(text);
    expect_bad_table("", NULL, "the table has no line");
    expect_bad_table("family,device\n", NULL, "lacks a column family, device or utilisation");
    expect_bad_table("family,device,utilisation,conv\n", NULL,
                     "neither all columns of features nor the columns");
    expect_bad_table("family,device,utilisation,model,batch\na,soft,0.5,/dev/null,1\n", NULL,
                     "line 2: /dev/null: this is not a regular file");
    expect_bad_line("vgg,soft,1.5", "line 2: '1.5' is not a number from 0 to 1");
    expect_bad_line("vgg,soft,nan", "'nan' is not a number");
    expect_bad_line("vgg,soft,", "'' is not a number");
    expect_bad_line("vgg,,0.5", "the device's name is missing or too long");
    expect_bad_line(",soft,0.5", "the family's name is missing or too long");
    expect_bad_line("vgg,soft,0.5\nvgg,other,0.5", "is not a number"); /* a truncated line */
}

/* A tab is not part of a name: both lines are of one family, and of the requested device. */
Test(predict_learn, names_are_compared_as_they_are_kept) {
    char *first = with_columns("a\tb,so\tft,0.25"), *text = NULL;
    struct complaint why;
    struct rows r;

    cr_assert(asprintf(&text, "%s%s", first, strchr(first, '\n') + 1) > 0);
    cr_assert_eq(read_rows(&r, text, "so\tft", &why), 0, "%s", why.text);
    cr_expect_eq(r.count, 2);
    cr_expect_eq(r.families_count, 1, "%u families", r.families_count);
    cr_expect_str_eq(r.families[0], "a?b");
    cr_expect_str_eq(r.device, "so?ft");
    rows_finish(&r);
    free(text);
    free(first);
}

/* ---- learning ----------------------------------------------------------------------------------
 */

/* Utilisation depends on two of the columns, nonlinearly. */
static void make_rows(struct rows *r, struct columns *x, double *y, uint32_t *family) {
    static double unknown[ROWS];
    uint32_t state = 7;

    *r = (struct rows){.count = ROWS, .x = x, .utilisation = y, .family = family};
    r->persistent = r->ephemeral = r->persistent_2 = r->ephemeral_2 = unknown;
    strcpy(r->device, "soft");
    for (r->families_count = 0; r->families_count < 4; r->families_count++)
        snprintf(r->families[r->families_count], ROWS_NAME_BYTES, "f%u", r->families_count);
    for (uint32_t i = 0; i < ROWS; i++) {
        for (unsigned k = 0; k < COLUMNS; k++) {
            state = state * 1664525u + 1013904223u;
            x[i].x[k] = (float)(state >> 20) / 256;
        }
        y[i] = x[i].x[0] > 8 ? 0.9 : x[i].x[3] > 8 ? 0.5 : 0.1;
        family[i] = i % 4;
    }
}

Test(predict_learn, trees_give_what_xgboost_gives) {
    static struct columns x[ROWS];
    static double y[ROWS], logs[ROWS];
    static uint32_t family[ROWS];
    struct complaint why = {{0}};
    struct forest f = {0}, again = {0};
    float theirs[ROWS];
    struct rows r;

    make_rows(&r, x, y, family);
    for (uint32_t i = 0; i < ROWS; i++)
        logs[i] = predictor_logarithm(y[i]);
    cr_assert_eq(boost_train(&f, x, logs, ROWS, theirs, &why), 0, "%s", why.text);
    cr_assert_eq(boost_train(&again, x, logs, ROWS, NULL, &why), 0, "%s", why.text);
    cr_expect_gt(f.count, 50);
    for (uint32_t i = 0; i < ROWS; i++) {
        cr_expect_float_eq(forest_predict(&f, &x[i]), theirs[i], 1e-4);
        cr_expect_eq(forest_predict(&f, &x[i]), forest_predict(&again, &x[i]));
    }
    forest_finish(&f);
    forest_finish(&again);
}

/* Linear regression finds a line, despite the ridge term. */
Test(predict_learn, a_line) {
    static struct columns x[ROWS];
    static double y[ROWS];
    static uint32_t family[ROWS];
    struct linear l;
    struct rows r;

    make_rows(&r, x, y, family);
    for (uint32_t i = 0; i < ROWS; i++)
        y[i] = 3 + 2 * (double)x[i].x[1] - (double)x[i].x[24];
    cr_assert_eq(linear_fit(&l, x, y, ROWS), 0);
    for (uint32_t i = 0; i < ROWS; i++)
        cr_expect_float_eq(linear_predict(&l, &x[i]), y[i], 0.02 * fabs(y[i]) + 1);
    cr_expect_float_eq(l.weights[1] / l.scales[1], 2, 0.1);
    cr_expect_float_eq(l.weights[24] / l.scales[24], -1, 0.1);
    cr_expect_eq(linear_fit(&l, x, y, 0), -EINVAL);
}

Test(predict_learn, rmsle_is_of_percent) {
    double said[] = {0.5, 0.1}, was[] = {0.5, 0.2};

    cr_expect_float_eq(assess_rmsle(said, was, 2), log(21.0 / 11) / sqrt(2), 1e-9);
    cr_expect_eq(assess_rmsle(said, was, 0), 0);
    cr_expect_eq(predictor_part(-1), 0);
    cr_expect_eq(predictor_part(1e9), 1);
    cr_expect_float_eq(predictor_part(predictor_logarithm(0.37)), 0.37, 1e-12);
}

/* A family whose rows contradict all others is predicted badly, because it was left out of the
 * training. */
Test(predict_learn, errors_are_of_families_left_out) {
    static struct columns x[ROWS];
    static double y[ROWS], each[ROWS];
    static uint32_t family[ROWS];
    struct complaint why = {{0}};
    struct predictor p;
    struct rows r;

    make_rows(&r, x, y, family);
    for (uint32_t i = 0; i < ROWS; i++)
        if (family[i] == 2) y[i] = 1 - y[i];
    cr_assert_eq(assess_train(&p, &r, each, &why), 0, "%s", why.text);
    cr_expect_eq(p.families_count, 4);
    cr_expect_eq(p.families[2].rows, ROWS / 4);
    cr_expect_gt(p.families[2].rmsle, 1, "%f", p.families[2].rmsle);
    cr_expect_lt(p.families[0].rmsle, 0.9, "%f", p.families[0].rmsle);
    cr_expect_float_eq(p.rmsle, assess_rmsle(each, y, ROWS), 1e-9);
    predictor_finish(&p);
    r.families_count = 1;
    cr_expect_eq(assess_train(&p, &r, NULL, &why), -EINVAL);
    cr_expect(strstr(why.text, "at least two families"));
    predictor_finish(&p);
}

/* ---- the file -----------------------------------------------------------------------------------
 */

static char *trained(struct predictor *p) {
    static struct columns x[ROWS];
    static double y[ROWS];
    static uint32_t family[ROWS];
    struct complaint why = {{0}};
    char *text = NULL;
    size_t bytes;
    struct rows r;
    FILE *f;

    make_rows(&r, x, y, family);
    cr_assert_eq(assess_train(p, &r, NULL, &why), 0, "%s", why.text);
    strcpy(p->families[1].name, "a \"b\" \\");
    strcpy(p->about, "rows of \"a\" test \\");
    f = open_memstream(&text, &bytes);
    predictor_write(p, f);
    cr_assert_eq(fclose(f), 0);
    return text;
}

Test(predict_learn, a_file_is_read_as_it_was_written) {
    struct complaint why = {{0}};
    struct predictor p, q;
    char *text = trained(&p);
    struct columns c = {{0}};

    cr_assert_eq(predictor_parse(&q, text, strlen(text), &why), 0, "%s", why.text);
    cr_expect_str_eq(q.about, p.about);
    cr_expect_eq(q.rows, ROWS);
    cr_expect_eq(q.families_count, 4);
    cr_expect_str_eq(q.families[1].name, "a \"b\" \\");
    for (int i = 0; i < 200; i++) {
        c.x[i % COLUMNS] = (float)(i * 7 % 16);
        cr_expect_eq(predictor_utilisation(&p, &c), predictor_utilisation(&q, &c));
    }
    for (size_t n = 0; n < strlen(text) - 2; n += 37) {
        struct predictor part;

        cr_expect_eq(predictor_parse(&part, text, n, &why), -EINVAL, "the first %zu bytes", n);
        predictor_finish(&part);
    }
    predictor_finish(&p);
    predictor_finish(&q);
    free(text);
}

/* Replaces the first `from` by `to` and expects a rejection. */
static void expect_refused(const char *text, const char *from, const char *to, const char *part) {
    const char *at = strstr(text, from);
    struct complaint why = {{0}};
    struct predictor p;
    char *other;

    cr_assert(at, "%s", from);
    cr_assert(asprintf(&other, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from)) > 0);
    cr_expect_eq(predictor_parse(&p, other, strlen(other), &why), -EINVAL, "%s", to);
    cr_expect(strstr(why.text, part), "%s: %s", to, why.text);
    predictor_finish(&p);
    free(other);
}

Test(predict_learn, files_that_are_wrong_are_refused) {
    struct predictor p;
    char *text = trained(&p);

    expect_refused(text, "\"salus_predictor\": 1", "\"salus_predictor\": 2", "'salus_predictor'");
    expect_refused(text, "\"rows\": 120", "\"rows\": \"120\"", "'rows'");
    expect_refused(text, "\"rmsle\": ", "\"rmsle\": -", "'families'");
    expect_refused(text, "\"device\": \"soft\"", "\"device\": \"\"", "'device'");
    expect_refused(text, "\"flops\"", "\"flop\"", "'columns'");
    expect_refused(text, "\"Gemm\"]", "\"Gemm\", \"more\"]", "'columns'");
    expect_refused(text, "\"least\": [", "\"least\": [1e300, ", "'least'");
    expect_refused(text, "\"trees\": [", "\"trees\": [[[0, 0, 0, 1]],", "'trees'");
    expect_refused(text, "\"trees\": [", "\"trees\": [[[1, 2, 0, 1], [1]],", "'trees'");
    expect_refused(text, "\"trees\": [", "\"trees\": [[[1, 1, 0, 1], [1, 1, 0, 1]],", "'trees'");
    expect_refused(text, "\"trees\": [", "\"trees\": [[[1, 2, 99, 1], [1], [2]],", "'trees'");
    expect_refused(text, "\"trees\": [", "\"trees\": [[[1, 2, 0, 1e60], [1], [2]],", "'trees'");
    expect_refused(text, "\"trees\": [", "\"trees\": [[],", "'trees'");
    expect_refused(text, "\"trees\": [", "\"trees\": [7,", "'trees'");
    predictor_finish(&p);
    free(text);
}

Test(predict_learn, what_it_has_not_seen_is_told) {
    struct predictor p = {0};
    struct columns c = {{0}};
    unsigned first = 99;

    for (unsigned i = 0; i < COLUMNS; i++)
        p.most[i] = 5;
    cr_expect_eq(predictor_outside(&p, &c, &first), 0);
    c.x[2] = 6;
    c.x[4] = -1;
    cr_expect_eq(predictor_outside(&p, &c, &first), 2);
    cr_expect_eq(first, 2);
}
