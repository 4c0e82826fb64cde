/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads rows with common/text/csv.h.
 */
#include "daemon/sim/place/jobset_table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAULT_BYTES 200u

void table_fault(struct table *t, const char *fmt, ...) {
    char text[FAULT_BYTES];
    va_list ap;
    if (t->faults++ >= TABLE_FAULTS_MOST) return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    buf_printf(t->errors, "%u: %s\n", t->csv.line, text);
}

int table_begin(struct table *t, const char *const *names, uint32_t needed, const char *text,
                size_t bytes, struct buf *errors) {
    *t = (struct table){.errors = errors, .names = names};
    csv_init(&t->csv, text, bytes);
    int more = csv_next(&t->csv);
    if (more == -ENOMEM) return more;
    if (more <= 0)
        table_fault(t, "%s",
                    more ? t->csv.why
                         : "the table has no heading: its first line must name the columns");
    for (uint32_t i = 0; more > 0 && names[i]; i++) {
        t->at[i] = csv_find(&t->csv, names[i]);
        if (i < needed && t->at[i] < 0) table_fault(t, "the table has no column %s", names[i]);
    }
    return t->faults ? -EINVAL : 0;
}

void table_finish(struct table *t) {
    csv_finish(&t->csv);
}

int table_next(struct table *t) {
    if (t->faults > TABLE_FAULTS_MOST) return -EINVAL;
    int more = csv_next(&t->csv);
    if (more == -ENOMEM) return more;
    if (more == -EINVAL) table_fault(t, "%s", t->csv.why);
    if (more <= 0) return t->faults ? -EINVAL : 0;
    return 1;
}

const char *table_text(const struct table *t, uint32_t column) {
    return t->at[column] < 0 ? "" : csv_field(&t->csv, (uint32_t)t->at[column]);
}

/* Rejects infinity, hexadecimal and other forms that strtod accepts. */
static bool parse(const char *text, double *out) {
    char *end;
    if (!*text || text[strspn(text, "0123456789.eE+-")]) return false;
    *out = strtod(text, &end);
    return !*end;
}

double table_number(struct table *t, uint32_t column, double preset, double least, double most) {
    const char *text = table_text(t, column);
    double x = 0;
    if (!*text) return preset;
    if (parse(text, &x) && x >= least && x <= most) return x;
    table_fault(t, "%s: '%.40s' is not a number from %g to %g", t->names[column], text, least,
                most);
    return preset;
}

uint32_t table_count(struct table *t, uint32_t column, uint32_t preset, uint32_t least,
                     uint32_t most) {
    double x = table_number(t, column, preset, least, most);
    if (x == (double)(uint32_t)x) return (uint32_t)x;
    table_fault(t, "%s: '%.40s' is not a whole number", t->names[column], table_text(t, column));
    return preset;
}
