/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a predictor as JSON. A tree is an array of nodes, a leaf [value], any other node [left,
 * right, column, threshold]. Numbers are written with enough digits to be read back exactly.
 */
#include "daemon/predict/learn/predictor_write.h"

/* Strings here have no control characters. */
static void put_quoted(FILE *out, const char *text) {
    fputc('"', out);
    for (; *text; text++)
        fprintf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    fputc('"', out);
}

static void put_text(FILE *out, const char *name, const char *text) {
    fprintf(out, "  \"%s\": ", name);
    put_quoted(out, text);
    fputs(",\n", out);
}

static void put_seen(FILE *out, const char *name, const float *numbers) {
    fprintf(out, "  \"%s\": [", name);
    for (unsigned i = 0; i < COLUMNS; i++)
        fprintf(out, "%s%.9g", i ? ", " : "", (double)numbers[i]);
    fputs("],\n", out);
}

static void put_families(FILE *out, const struct predictor *p) {
    fputs("  \"families\": [\n", out);
    for (uint32_t i = 0; i < p->families_count; i++) {
        fputs("    {\"name\": ", out);
        put_quoted(out, p->families[i].name);
        fprintf(out, ", \"rows\": %u, \"rmsle\": %.6f}%s\n", p->families[i].rows,
                p->families[i].rmsle, i + 1 < p->families_count ? "," : "");
    }
    fputs("  ],\n", out);
}

static void put_tree(FILE *out, const struct forest_tree *t, bool last) {
    fputs("    [", out);
    for (uint32_t i = 0; i < t->count; i++) {
        const struct forest_node *n = &t->nodes[i];

        if (n->left)
            fprintf(out, "%s[%u, %u, %u, %.9g]", i ? ", " : "", n->left, n->right, n->column,
                    (double)n->number);
        else
            fprintf(out, "%s[%.9g]", i ? ", " : "", (double)n->number);
    }
    fprintf(out, "]%s\n", last ? "" : ",");
}

void predictor_write(const struct predictor *p, FILE *out) {
    fprintf(out, "{\n  \"salus_predictor\": %d,\n", PREDICTOR_VERSION);
    put_text(out, "device", p->device);
    put_text(out, "about", p->about);
    fprintf(out, "  \"rows\": %u,\n", p->rows);
    put_families(out, p);
    fprintf(out, "  \"rmsle\": %.6f,\n  \"linear_rmsle\": %.6f,\n  \"mean_rmsle\": %.6f,\n",
            p->rmsle, p->linear_rmsle, p->mean_rmsle);
    fprintf(out, "  \"delta_bytes\": %.0f,\n  \"ephemeral_delta_bytes\": %.0f,\n", p->delta_bytes,
            p->ephemeral_delta_bytes);
    fputs("  \"columns\": [", out);
    for (unsigned i = 0; i < COLUMNS; i++)
        fprintf(out, "%s\"%s\"", i ? ", " : "", columns_name(i));
    fputs("],\n", out);
    put_seen(out, "least", p->least);
    put_seen(out, "most", p->most);
    fprintf(out, "  \"base\": %.17g,\n  \"trees\": [\n", p->forest.base);
    for (uint32_t i = 0; i < p->forest.count; i++)
        put_tree(out, &p->forest.trees[i], i + 1 == p->forest.count);
    fputs("  ]\n}\n", out);
}
