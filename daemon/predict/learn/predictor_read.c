/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses a predictor from JSON. A missing member, a wrong type or a value out of bounds is an error
 * of the file.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/predict/learn/predictor_read.h"
#include "daemon/predict/onnx/bytes.h"

struct parse {
    const cJSON *all;
    struct predictor *p;
    struct complaint *why;
};

static const cJSON *get(const cJSON *o, const char *name) {
    return cJSON_GetObjectItemCaseSensitive(o, name);
}

static int bad(struct parse *g, const char *name) {
    return complaint_say(g->why, "the file is not a predictor: '%s' is missing or wrong", name);
}

/* Reads a number from `least` to `most`; rejects NaN. */
static bool number(const cJSON *item, double least, double most, double *out) {
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= least) || !(item->valuedouble <= most))
        return false;
    *out = item->valuedouble;
    return true;
}

static int take_number(struct parse *g, const char *name, double least, double most, double *out) {
    return number(get(g->all, name), least, most, out) ? 0 : bad(g, name);
}

static bool text(const cJSON *item, char *out, size_t cap) {
    if (!cJSON_IsString(item) || strlen(item->valuestring) >= cap) return false;
    snprintf(out, cap, "%s", item->valuestring);
    complaint_clean(out);
    return true;
}

static int take_numbers(struct parse *g) {
    struct predictor *p = g->p;
    double rows = 0, version;
    int err = take_number(g, "salus_predictor", PREDICTOR_VERSION, PREDICTOR_VERSION, &version);

    if (!err) err = take_number(g, "rows", 1, ROWS_MAX, &rows);
    if (!err) err = take_number(g, "rmsle", 0, 100, &p->rmsle);
    if (!err) err = take_number(g, "linear_rmsle", 0, 100, &p->linear_rmsle);
    if (!err) err = take_number(g, "mean_rmsle", 0, 100, &p->mean_rmsle);
    if (!err) err = take_number(g, "delta_bytes", 0, 1e15, &p->delta_bytes);
    if (!err) err = take_number(g, "ephemeral_delta_bytes", -1e15, 1e15, &p->ephemeral_delta_bytes);
    if (!err) err = take_number(g, "base", -1000, 1000, &p->forest.base);
    p->rows = (uint32_t)rows;
    return err;
}

static int take_families(struct parse *g) {
    const cJSON *list = get(g->all, "families"), *item;
    struct predictor *p = g->p;

    if (!cJSON_IsArray(list)) return bad(g, "families");
    cJSON_ArrayForEach(item, list) {
        struct predictor_family *f = &p->families[p->families_count];
        double rows = 0;

        if (p->families_count == ROWS_FAMILIES_MAX ||
            !text(get(item, "name"), f->name, sizeof(f->name)) ||
            !number(get(item, "rows"), 0, ROWS_MAX, &rows) ||
            !number(get(item, "rmsle"), 0, 100, &f->rmsle))
            return bad(g, "families");
        f->rows = (uint32_t)rows;
        p->families_count++;
    }
    return 0;
}

/* A predictor trained on other columns would return meaningless values. */
static int check_columns(struct parse *g) {
    const cJSON *list = get(g->all, "columns"), *item;
    unsigned i = 0;

    cJSON_ArrayForEach(item, list) {
        if (i == COLUMNS || !cJSON_IsString(item) ||
            strcmp(item->valuestring, columns_name(i)) != 0)
            break;
        i++;
    }
    return cJSON_IsArray(list) && i == COLUMNS && !item ? 0 : bad(g, "columns");
}

static int take_seen(struct parse *g, const char *name, float *out) {
    const cJSON *list = get(g->all, name), *item;
    unsigned i = 0;
    double v;

    if (!cJSON_IsArray(list)) return bad(g, name);
    cJSON_ArrayForEach(item, list) {
        if (i == COLUMNS || !number(item, -1e6, 1e6, &v)) return bad(g, name);
        out[i++] = (float)v;
    }
    return i == COLUMNS ? 0 : bad(g, name);
}

static bool take_node(const cJSON *item, struct forest_node *n) {
    double v[4] = {0};
    int count = 0;
    const cJSON *e;

    if (!cJSON_IsArray(item)) return false;
    cJSON_ArrayForEach(e, item) if (count == 4 ||
                                    !number(e, -FLT_MAX, FLT_MAX, &v[count++])) return false;
    if (count == 1) {
        n->number = (float)v[0];
        return true;
    }
    for (int i = 0; i < 3; i++)
        if (v[i] < 0 || v[i] > UINT16_MAX) return false;
    *n = (struct forest_node){(uint16_t)v[0], (uint16_t)v[1], (uint16_t)v[2], (float)v[3]};
    return count == 4 && n->left != 0;
}

static int take_tree(struct parse *g, const cJSON *tree) {
    const cJSON *item;
    struct forest_tree *t;
    uint32_t i = 0, count = 0;

    if (!cJSON_IsArray(tree)) return bad(g, "trees");
    cJSON_ArrayForEach(item, tree) count++;
    t = forest_add(&g->p->forest, count);
    if (!t) return bad(g, "trees");
    cJSON_ArrayForEach(item, tree) if (!take_node(item, &t->nodes[i++])) return bad(g, "trees");
    return forest_sound(t) ? 0 : bad(g, "trees");
}

static int take_trees(struct parse *g) {
    const cJSON *list = get(g->all, "trees"), *tree;

    if (!cJSON_IsArray(list)) return bad(g, "trees");
    cJSON_ArrayForEach(tree, list) {
        int err = take_tree(g, tree);

        if (err) return err;
    }
    return 0;
}

static int take_all(struct parse *g) {
    struct predictor *p = g->p;
    int err = take_numbers(g);

    if (!err && (!text(get(g->all, "device"), p->device, sizeof(p->device)) || !p->device[0]))
        err = bad(g, "device");
    if (!err && !text(get(g->all, "about"), p->about, sizeof(p->about))) err = bad(g, "about");
    if (!err) err = take_families(g);
    if (!err) err = check_columns(g);
    if (!err) err = take_seen(g, "least", p->least);
    if (!err) err = take_seen(g, "most", p->most);
    if (!err) err = take_trees(g);
    return err;
}

int predictor_parse(struct predictor *p, const char *from, size_t bytes, struct complaint *why) {
    cJSON *all = cJSON_ParseWithLength(from, bytes);
    struct parse g = {all, p, why};
    int err;

    *p = (struct predictor){0};
    err = cJSON_IsObject(all)
              ? take_all(&g)
              : complaint_say(why, "the file is not a predictor: it is not a JSON object");
    cJSON_Delete(all);
    return err;
}

int predictor_read(struct predictor *p, const char *path, struct complaint *why) {
    unsigned char *bytes;
    size_t count;
    int err = bytes_read(path, PREDICTOR_FILE_MAX, &bytes, &count, why);

    *p = (struct predictor){0};
    if (!err) err = predictor_parse(p, (const char *)bytes, count, why);
    free(bytes);
    return err;
}
