/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/predict/learn/rows.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/csv.h"
#include "daemon/predict/features/measure.h"
#include "daemon/predict/features/need.h"
#include "daemon/predict/onnx/bytes.h"

/* Column indices in the table; -1: the table lacks this column. */
struct places {
    int family, device, model, batch, optimiser, utilisation;
    int persistent, ephemeral, persistent_2, ephemeral_2;
    int columns[COLUMNS];
    bool features; /* the table has all feature columns */
};

struct reading {
    struct rows *r;
    const char *path;
    char device[ROWS_NAME_BYTES]; /* "": the device of the first row; all rows must have it */
    struct complaint *why;
    struct csv csv;
    struct places at;
};

static int bad(struct reading *g, const char *what) {
    return complaint_say(g->why, "line %u: %.200s", g->csv.line, what);
}

static int read_head(struct reading *g) {
    struct places *p = &g->at;
    int err = csv_next(&g->csv);

    if (err == 0) return complaint_say(g->why, "the table has no line");
    if (err < 0) return bad(g, g->csv.why);
    p->family = csv_find(&g->csv, "family");
    p->device = csv_find(&g->csv, "device");
    p->model = csv_find(&g->csv, "model");
    p->utilisation = csv_find(&g->csv, "utilisation");
    p->persistent = csv_find(&g->csv, "persistent_bytes");
    p->ephemeral = csv_find(&g->csv, "ephemeral_bytes");
    p->persistent_2 = csv_find(&g->csv, "persistent_estimate");
    p->ephemeral_2 = csv_find(&g->csv, "ephemeral_estimate");
    p->batch = csv_find(&g->csv, "batch");
    p->optimiser = csv_find(&g->csv, "optimiser");
    p->features = true;
    for (unsigned i = 0; i < COLUMNS; i++) {
        p->columns[i] = csv_find(&g->csv, columns_name(i));
        if (p->columns[i] < 0) p->features = false;
    }
    if (p->family < 0 || p->device < 0 || p->utilisation < 0)
        return complaint_say(g->why, "the table lacks a column family, device or utilisation");
    if (!p->features && (p->model < 0 || p->batch < 0))
        return complaint_say(
            g->why,
            "the table has neither all columns of features nor the columns model and batch");
    return 0;
}

static int number(struct reading *g, int place, double max, double *out) {
    const char *text = place < 0 ? "0" : csv_field(&g->csv, (uint32_t)place);
    char *end;

    *out = strtod(text, &end);
    if (*text && !*end && *out >= 0 && *out <= max) return 0;
    return complaint_say(g->why, "line %u: '%.60s' is not a number from 0 to %g", g->csv.line, text,
                         max);
}

/* Copies a name and replaces unprintable characters, so that it compares equal to stored names.
 * Returns false for an invalid name. */
static bool take_name(const char *text, char out[ROWS_NAME_BYTES]) {
    if (!*text || strlen(text) >= ROWS_NAME_BYTES) return false;
    snprintf(out, ROWS_NAME_BYTES, "%s", text);
    complaint_clean(out);
    return true;
}

/* ---- one line ---------------------------------------------------------------------------------
 */

static int find_family(struct reading *g, const char *field, uint32_t *out) {
    struct rows *r = g->r;
    char name[ROWS_NAME_BYTES];

    if (!take_name(field, name)) return bad(g, "the family's name is missing or too long");
    for (*out = 0; *out < r->families_count; ++*out)
        if (strcmp(r->families[*out], name) == 0) return 0;
    if (r->families_count == ROWS_FAMILIES_MAX) return bad(g, "the table has too many families");
    memcpy(r->families[r->families_count++], name, sizeof(name));
    return 0;
}

/* Estimates memory by equation (2) for a row whose table lacks the estimates. */
static int estimate(struct reading *g, const struct features *f, uint32_t row) {
    const char *word = g->at.optimiser < 0 ? "" : csv_field(&g->csv, (uint32_t)g->at.optimiser);
    int optimiser = *word ? need_find_optimiser(word) : NEED_SGD;
    struct need n;

    if (optimiser < 0)
        return complaint_say(
            g->why, "line %u: '%.40s' is not an optimiser: use none, sgd, momentum or adam",
            g->csv.line, word);
    need_estimate(&n, f, (enum need_optimiser)optimiser, 0);
    if (g->at.persistent_2 < 0) g->r->persistent_2[row] = (double)n.persistent_bytes;
    if (g->at.ephemeral_2 < 0) g->r->ephemeral_2[row] = (double)n.ephemeral_bytes;
    return 0;
}

static int of_model(struct reading *g, struct features *f, uint32_t row) {
    const char *name = csv_field(&g->csv, (uint32_t)g->at.model);
    struct infer_options o = {0};
    char own[PATH_MAX], path[2 * PATH_MAX];
    struct complaint why = {{0}};
    double batch;
    int err = number(g, g->at.batch, (double)INFER_SIZE_MAX, &batch);

    if (err) return err;
    o.batch = (int64_t)batch;
    snprintf(own, sizeof(own), "%s", g->path);
    snprintf(path, sizeof(path), "%s/%s", name[0] == '/' ? "" : dirname(own), name);
    err = measure_file(f, path, &o, &why);
    if (!err) return estimate(g, f, row);
    complaint_say(g->why, "line %u: %.80s: %.250s", g->csv.line, name, why.text);
    return err;
}

static int features_of(struct reading *g, struct features *f, uint32_t row) {
    int err = 0;

    if (!g->at.features) return of_model(g, f, row);
    for (unsigned i = 0; i < COLUMNS && !err; i++) {
        double v = 0;

        err = number(g, g->at.columns[i], i < COLUMNS_FIRST ? 1e18 : 1e9, &v);
        columns_set(f, i, v);
    }
    return err;
}

/* Returns 0 also if the line belongs to another device than requested. */
static int read_line(struct reading *g) {
    char device[ROWS_NAME_BYTES];
    bool named = take_name(csv_field(&g->csv, (uint32_t)g->at.device), device);
    struct rows *r = g->r;
    uint32_t i = r->count;
    struct features f = {0};
    int err;

    if (g->device[0] && (!named || strcmp(device, g->device) != 0)) return 0;
    if (r->count == ROWS_MAX) return bad(g, "the table has too many rows");
    if (!named) return bad(g, "the device's name is missing or too long");
    if (!r->device[0]) memcpy(r->device, device, sizeof(r->device));
    if (strcmp(device, r->device) != 0)
        return bad(g, "the table has rows of another device than before: choose one with --device");
    err = find_family(g, csv_field(&g->csv, (uint32_t)g->at.family), &r->family[i]);
    if (!err) err = number(g, g->at.utilisation, 1, &r->utilisation[i]);
    if (!err) err = number(g, g->at.persistent, 1e18, &r->persistent[i]);
    if (!err) err = number(g, g->at.ephemeral, 1e18, &r->ephemeral[i]);
    if (!err) err = number(g, g->at.persistent_2, 1e18, &r->persistent_2[i]);
    if (!err) err = number(g, g->at.ephemeral_2, 1e18, &r->ephemeral_2[i]);
    if (!err) err = features_of(g, &f, i);
    if (err) return err;
    columns_of(&r->x[i], &f);
    r->count++;
    return 0;
}

/* ---- the whole table ------------------------------------------------------------------------- */

static uint32_t count_lines(const unsigned char *text, size_t bytes) {
    uint32_t lines = 1;

    for (size_t i = 0; i < bytes; i++)
        lines += text[i] == '\n';
    return lines < ROWS_MAX ? lines : ROWS_MAX;
}

static int reserve(struct rows *r, uint32_t count) {
    r->x = calloc(count, sizeof(*r->x));
    r->family = calloc(count, sizeof(*r->family));
    r->utilisation = calloc(count, sizeof(*r->utilisation));
    r->persistent = calloc(count, sizeof(*r->persistent));
    r->ephemeral = calloc(count, sizeof(*r->ephemeral));
    r->persistent_2 = calloc(count, sizeof(*r->persistent_2));
    r->ephemeral_2 = calloc(count, sizeof(*r->ephemeral_2));
    return r->x && r->family && r->utilisation && r->persistent && r->ephemeral &&
                   r->persistent_2 && r->ephemeral_2
               ? 0
               : -ENOMEM;
}

static int read_all(struct reading *g) {
    int more, err = read_head(g);

    while (!err && (more = csv_next(&g->csv)) != 0)
        err = more < 0 ? bad(g, g->csv.why ? g->csv.why : "out of memory") : read_line(g);
    if (!err && g->r->count == 0)
        err = complaint_say(g->why, "no line is of the device '%.40s'", g->device);
    return err;
}

int rows_read(struct rows *r, const char *path, const char *device, struct complaint *why) {
    struct reading *g = calloc(1, sizeof(*g));
    unsigned char *text;
    size_t bytes;
    int err;

    *r = (struct rows){0};
    if (!g) return complaint_memory(why);
    g->r = r;
    g->path = path;
    g->why = why;
    if (device && !take_name(device, g->device)) {
        free(g);
        return complaint_say(why, "no line is of the device '%.40s'", device);
    }
    err = bytes_read(path, ROWS_FILE_MAX, &text, &bytes, why);
    if (!err && reserve(r, count_lines(text, bytes))) err = complaint_memory(why);
    if (!err) {
        csv_init(&g->csv, (const char *)text, bytes);
        err = read_all(g);
        csv_finish(&g->csv);
    }
    free(text);
    free(g);
    return err;
}

void rows_finish(struct rows *r) {
    free(r->x);
    free(r->family);
    free(r->utilisation);
    free(r->persistent);
    free(r->ephemeral);
    free(r->persistent_2);
    free(r->ephemeral_2);
    *r = (struct rows){0};
}
