/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/predict/learn/boost.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xgboost/c_api.h>

#define ROUNDS 150

/* One thread and one seed, so that the same rows give the same trees on every machine. */
static const char *const settings[][2] = {{"objective", "reg:squarederror"},
                                          {"tree_method", "exact"},
                                          {"nthread", "1"},
                                          {"seed", "0"},
                                          {"verbosity", "0"},
                                          {"eta", "0.08"},
                                          {"max_depth", "4"},
                                          {"min_child_weight", "3"},
                                          {"lambda", "1"},
                                          {"subsample", "0.8"},
                                          {"colsample_bytree", "0.6"}};

struct boost {
    DMatrixHandle rows;
    BoosterHandle booster;
    struct complaint *why;
};

static int failed(struct boost *b) {
    return complaint_say(b->why, "XGBoost: %.300s", XGBGetLastError());
}

static int load(struct boost *b, const struct columns *x, const double *y, uint32_t rows) {
    float *labels = calloc(rows, sizeof(*labels));
    int err = 0;

    if (!labels) return complaint_memory(b->why);
    for (uint32_t i = 0; i < rows; i++)
        labels[i] = (float)y[i];
    if (XGDMatrixCreateFromMat(x->x, rows, COLUMNS, NAN, &b->rows) ||
        XGDMatrixSetFloatInfo(b->rows, "label", labels, rows))
        err = failed(b);
    free(labels);
    return err;
}

static int grow(struct boost *b, double base) {
    char text[32];

    if (XGBoosterCreate(&b->rows, 1, &b->booster)) return failed(b);
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
        if (XGBoosterSetParam(b->booster, settings[i][0], settings[i][1])) return failed(b);
    snprintf(text, sizeof(text), "%.9g", base);
    if (XGBoosterSetParam(b->booster, "base_score", text)) return failed(b);
    for (int i = 0; i < ROUNDS; i++)
        if (XGBoosterUpdateOneIter(b->booster, i, b->rows)) return failed(b);
    return 0;
}

static int ask(struct boost *b, float *out, uint32_t rows) {
    const float *predicted;
    bst_ulong count;

    if (XGBoosterPredict(b->booster, b->rows, 0, 0, 0, &count, &predicted)) return failed(b);
    if (count != rows) return complaint_say(b->why, "XGBoost: predictions for other rows");
    memcpy(out, predicted, rows * sizeof(*out));
    return 0;
}

/* ---- conversion of XGBoost's trees ----------------------------------------------------------- */

static const cJSON *walk(const cJSON *at, const char *const *names) {
    for (; at && *names; names++)
        at = cJSON_GetObjectItemCaseSensitive(at, *names);
    return at;
}

/* The arrays of one tree, with one element per node, including pruned nodes. */
struct arrays {
    double *left, *right, *column, *number;
    uint32_t count;
};

static double *numbers(const cJSON *tree, const char *name, uint32_t *count) {
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(tree, name), *item;
    double *out = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof(*out));

    *count = 0;
    cJSON_ArrayForEach(item, list) if (out) out[(*count)++] = item->valuedouble;
    return out;
}

static void arrays_finish(struct arrays *a) {
    free(a->left);
    free(a->right);
    free(a->column);
    free(a->number);
}

static bool arrays_read(struct arrays *a, const cJSON *tree) {
    uint32_t r, c, n;

    a->left = numbers(tree, "left_children", &a->count);
    a->right = numbers(tree, "right_children", &r);
    a->column = numbers(tree, "split_indices", &c);
    a->number = numbers(tree, "split_conditions", &n);
    return a->left && a->right && a->column && a->number && a->count > 0 && r == a->count &&
           c == a->count && n == a->count && a->count <= FOREST_NODES_MAX;
}

/* Copies the nodes in breadth-first order, so that children follow their parents. */
static uint32_t place(const struct arrays *a, struct forest_node *out, uint32_t *from) {
    uint32_t count = 1;

    from[0] = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = from[i];

        out[i] = (struct forest_node){.number = (float)a->number[k]};
        if (a->left[k] < 0) continue;
        if (count + 2 > a->count || a->left[k] >= a->count || a->right[k] >= a->count) return 0;
        out[i].column = (uint16_t)a->column[k];
        out[i].left = (uint16_t)count;
        from[count++] = (uint32_t)a->left[k];
        out[i].right = (uint16_t)count;
        from[count++] = (uint32_t)a->right[k];
    }
    return count;
}

static int take_tree(struct forest *f, const cJSON *tree, struct complaint *why) {
    uint32_t from[FOREST_NODES_MAX];
    struct arrays a = {0};
    struct forest_tree *t;
    int err = 0;

    if (!arrays_read(&a, tree))
        err = complaint_say(why, "XGBoost: a tree of another form than version 1.7 writes");
    t = err ? NULL : forest_add(f, a.count);
    if (!err && !t) err = complaint_memory(why);
    if (!err) t->count = place(&a, t->nodes, from);
    if (!err && (t->count == 0 || !forest_sound(t)))
        err = complaint_say(why, "XGBoost: a tree that is none");
    arrays_finish(&a);
    return err;
}

static int take(struct boost *b, struct forest *f) {
    static const char *const to_trees[] = {"learner", "gradient_booster", "model", "trees", NULL};
    const char *text;
    const cJSON *trees, *tree;
    cJSON *all;
    bst_ulong bytes;
    int err = 0;

    if (XGBoosterSaveModelToBuffer(b->booster, "{\"format\":\"json\"}", &bytes, &text))
        return failed(b);
    all = cJSON_ParseWithLength(text, bytes);
    trees = walk(all, to_trees);
    if (!trees) err = complaint_say(b->why, "XGBoost: no trees where version 1.7 writes them");
    cJSON_ArrayForEach(tree, trees) if (!err) err = take_tree(f, tree, b->why);
    cJSON_Delete(all);
    return err;
}

int boost_train(struct forest *f, const struct columns *x, const double *y, uint32_t rows,
                float *check, struct complaint *why) {
    struct boost b = {.why = why};
    int err = rows ? 0 : complaint_say(why, "the table has no row to train on");

    for (uint32_t i = 0; i < rows; i++)
        f->base += y[i] / rows;
    f->base = (double)(float)f->base;
    if (!err) err = load(&b, x, y, rows);
    if (!err) err = grow(&b, f->base);
    if (!err && check) err = ask(&b, check, rows);
    if (!err) err = take(&b, f);
    if (b.booster) XGBoosterFree(b.booster);
    if (b.rows) XGDMatrixFree(b.rows);
    return err;
}
