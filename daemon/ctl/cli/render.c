/* SPDX-License-Identifier: Apache-2.0
 *
 * All formatting uses the field tables of proto/control/ctl.def; no code here knows a field by
 * position.
 */
#include "daemon/ctl/cli/render.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/text/units.h"
#include "daemon/ctl/cli/user_name.h"

#define CELL_BYTES (CTL_TEXT_BYTES + 8)
#define COLUMNS_MAX 20
#define LABEL_BYTES 64
#define NS_PER_S 1000000000u

/* ---- values ---------------------------------------------------------------------------------- */

void render_duration(uint64_t ns, char *out, size_t cap) {
    uint64_t s = ns / NS_PER_S;

    if (s >= 86400)
        snprintf(out, cap, "%" PRIu64 "d%02" PRIu64 "h", s / 86400, s / 3600 % 24);
    else if (s >= 3600)
        snprintf(out, cap, "%" PRIu64 "h%02" PRIu64 "m", s / 3600, s / 60 % 60);
    else if (s >= 60)
        snprintf(out, cap, "%" PRIu64 "m%02" PRIu64 "s", s / 60, s % 60);
    else if (ns >= NS_PER_S || ns == 0)
        snprintf(out, cap, "%.3g s", (double)ns / NS_PER_S);
    else if (ns >= 1000000)
        snprintf(out, cap, "%.3g ms", (double)ns / 1000000);
    else
        snprintf(out, cap, "%.3g us", (double)ns / 1000);
}

/* Prints a point in time as its age. */
static void print_age(uint64_t since_ns, char *out, size_t cap) {
    struct timespec now;
    uint64_t ns;

    clock_gettime(CLOCK_REALTIME, &now);
    ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
    render_duration(ns > since_ns ? ns - since_ns : 0, out, cap);
}

static bool is_moment(const struct ctl_field *f) {
    return strcmp(f->name, "since_ns") == 0 || strcmp(f->name, "ended_ns") == 0;
}

static bool tells_reason(const struct ctl_field *f) {
    return strcmp(f->name, "by") == 0 || strcmp(f->name, "why") == 0;
}

/* The field is an optional number of bytes. */
static bool is_optional_bytes(const struct ctl_field *f) {
    const char *unit = strrchr(f->name, '_');

    return f->kind == CTL_KIND_OPT && unit && strcmp(unit, "_bytes") == 0;
}

/* Prints a field for people if `human`, else the number or text as it is. */
static void print_field(const void *record, const struct ctl_field *f, bool human, char *out,
                        size_t cap) {
    uint64_t v;

    if (f->kind == CTL_KIND_TEXT) {
        const char *text = ctl_field_text(record, f);

        if (human && *text && tells_reason(f))
            user_name_put(text, out, cap);
        else
            snprintf(out, cap, "%s", *text || !human ? text : "-");
        return;
    }
    v = ctl_field_number(record, f);
    if (f->kind == CTL_KIND_INT)
        snprintf(out, cap, "%" PRId64, (int64_t)v);
    else if (f->kind == CTL_KIND_OPT && v == 0)
        snprintf(out, cap, "%s", human ? "-" : "");
    else if (human && is_optional_bytes(f))
        units_print_bytes(v - 1, out, cap);
    else if (!human || f->kind == CTL_KIND_OPT)
        snprintf(out, cap, "%" PRIu64, f->kind == CTL_KIND_OPT ? v - 1 : v);
    else if (is_moment(f))
        print_age(v, out, cap);
    else if (strcmp(f->name, "uid") == 0)
        user_name_print(v, out, cap);
    else if (f->kind == CTL_KIND_NS)
        render_duration(v, out, cap);
    else if (f->kind == CTL_KIND_BYTES)
        units_print_bytes(v, out, cap);
    else
        snprintf(out, cap, "%" PRIu64, v);
}

static const struct ctl_field *field_named(enum ctl_record kind, const char *name) {
    int count;
    const struct ctl_field *f = ctl_fields(kind, &count);

    for (int i = 0; i < count; i++)
        if (strcmp(f[i].name, name) == 0) return &f[i];
    return NULL;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void print_row(FILE *out, int columns, const int *widths, char (*cells)[CELL_BYTES]) {
    for (int k = 0; k < columns; k++)
        fprintf(out, "%-*s%s", k + 1 < columns ? widths[k] : 0, cells[k],
                k + 1 < columns ? "  " : "\n");
}

static void fill_row(const struct query *q, size_t i, const struct render_column *columns, int n,
                     char (*cells)[CELL_BYTES]) {
    for (int k = 0; k < n; k++)
        print_field(query_record(q, i), field_named(q->kind, columns[k].field), true, cells[k],
                    CELL_BYTES);
}

static void print_table(struct cli *c, const struct query *q, const struct render_column *columns) {
    char cells[COLUMNS_MAX][CELL_BYTES];
    int widths[COLUMNS_MAX], n = 0;

    for (; columns[n].heading; n++)
        widths[n] = (int)strlen(columns[n].heading);
    for (size_t i = 0; i < q->count; i++) {
        fill_row(q, i, columns, n, cells);
        for (int k = 0; k < n; k++)
            if ((int)strlen(cells[k]) > widths[k]) widths[k] = (int)strlen(cells[k]);
    }
    if (!c->no_header) {
        for (int k = 0; k < n; k++)
            snprintf(cells[k], CELL_BYTES, "%s", columns[k].heading);
        print_row(c->out, n, widths, cells);
    }
    for (size_t i = 0; i < q->count; i++) {
        fill_row(q, i, columns, n, cells);
        print_row(c->out, n, widths, cells);
    }
}

static void print_plain(struct cli *c, const struct query *q) {
    char cell[CELL_BYTES];
    int n;
    const struct ctl_field *f = ctl_fields(q->kind, &n);

    if (!c->no_header)
        for (int k = 0; k < n; k++)
            fprintf(c->out, "%s%c", f[k].name, k + 1 < n ? '\t' : '\n');
    for (size_t i = 0; i < q->count; i++)
        for (int k = 0; k < n; k++) {
            print_field(query_record(q, i), &f[k], false, cell, sizeof(cell));
            fprintf(c->out, "%s%c", cell, k + 1 < n ? '\t' : '\n');
        }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Writes numbers as text: cJSON's doubles would round 64 bits. */
static bool add_number(cJSON *object, const struct ctl_field *f, uint64_t v) {
    char name[64], text[40];

    if (f->kind == CTL_KIND_OPT && v == 0) return cJSON_AddNullToObject(object, f->name) != NULL;
    if (f->kind == CTL_KIND_OPT) v--;
    if (f->kind != CTL_KIND_NS) {
        snprintf(text, sizeof(text), f->kind == CTL_KIND_INT ? "%" PRId64 : "%" PRIu64, v);
        return cJSON_AddRawToObject(object, f->name, text) != NULL;
    }
    snprintf(name, sizeof(name), "%.*s_seconds", (int)strlen(f->name) - 3, f->name);
    snprintf(text, sizeof(text), "%" PRIu64 ".%09" PRIu64, v / NS_PER_S, v % NS_PER_S);
    return cJSON_AddRawToObject(object, name, text) != NULL;
}

struct cJSON *render_json(enum ctl_record kind, const void *record) {
    cJSON *object = cJSON_CreateObject();
    int n;
    const struct ctl_field *f = ctl_fields(kind, &n);
    bool ok = object != NULL;

    for (int k = 0; k < n && ok; k++) {
        if (f[k].kind == CTL_KIND_TEXT)
            ok = cJSON_AddStringToObject(object, f[k].name, ctl_field_text(record, &f[k]));
        else
            ok = add_number(object, &f[k], ctl_field_number(record, &f[k]));
    }
    if (ok) return object;
    cJSON_Delete(object);
    return NULL;
}

int render_print(struct cli *c, struct cJSON *root) {
    char *text = root ? (c->watch_ms ? cJSON_PrintUnformatted(root) : cJSON_Print(root)) : NULL;

    cJSON_Delete(root);
    if (!text) return cli_fail(c, CLI_FAILED, "out of memory");
    fprintf(c->out, "%s\n", text);
    free(text);
    return CLI_OK;
}

struct cJSON *render_root(void) {
    cJSON *root = cJSON_CreateObject();

    if (root) cJSON_AddNumberToObject(root, "schema", RENDER_SCHEMA);
    return root;
}

static int print_json_list(struct cli *c, const struct query *q, const char *name) {
    cJSON *root = render_root(), *list = cJSON_AddArrayToObject(root, name);

    for (size_t i = 0; i < q->count; i++)
        cJSON_AddItemToArray(list, render_json(q->kind, query_record(q, i)));
    return render_print(c, root);
}

/* ---- all formats ---------------------------------------------------------------------------- */

int render_list(struct cli *c, const struct query *q, const char *name,
                const struct render_column *columns) {
    if (c->format == CLI_JSON) return print_json_list(c, q, name);
    if (c->format == CLI_PLAIN)
        print_plain(c, q);
    else
        print_table(c, q, columns);
    return CLI_OK;
}

/* Prints the label of a field in a listing of one record: its name without the unit, which is part
 * of the value. A time is "NAME_for" if a field NAME exists as well. */
static void print_label(enum ctl_record kind, const struct ctl_field *f, char *out, size_t cap) {
    const char *unit = strrchr(f->name, '_');
    bool has_unit =
        unit && (f->kind == CTL_KIND_NS || f->kind == CTL_KIND_BYTES || is_optional_bytes(f));

    snprintf(out, cap, "%.*s", has_unit ? (int)(unit - f->name) : (int)strlen(f->name), f->name);
    if (has_unit && field_named(kind, out))
        snprintf(out, cap, "%.*s_for", (int)(unit - f->name), f->name);
}

int render_one(struct cli *c, const struct query *q, const char *name) {
    char cell[CELL_BYTES], label[LABEL_BYTES];
    int n, widest = 0;
    const struct ctl_field *f = ctl_fields(q->kind, &n);

    if (q->count == 0)
        return cli_fail(
            c, CLI_PROTOCOL,
            "salusd sent no record; compare 'salusctl version' with 'salusd --version'");
    if (c->format == CLI_JSON) {
        cJSON *root = render_root();

        cJSON_AddItemToObject(root, name, render_json(q->kind, query_record(q, 0)));
        return render_print(c, root);
    }
    if (c->format == CLI_PLAIN) {
        print_plain(c, q);
        return CLI_OK;
    }
    for (int k = 0; k < n; k++) {
        print_label(q->kind, &f[k], label, sizeof(label));
        if ((int)strlen(label) > widest) widest = (int)strlen(label);
    }
    for (int k = 0; k < n; k++) {
        print_label(q->kind, &f[k], label, sizeof(label));
        print_field(query_record(q, 0), &f[k], true, cell, sizeof(cell));
        fprintf(c->out, "%s:%*s%s\n", label, widest + 1 - (int)strlen(label), "", cell);
    }
    return CLI_OK;
}
