/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses rows of fields. Each field is copied, without its quotes and with a NUL, into `row`.
 */
#include "common/text/csv.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

void csv_init(struct csv *c, const char *text, size_t bytes) {
    c->at = text;
    c->end = text + bytes;
    c->line = c->next_line = 1;
    c->count = 0;
    c->why = "";
    buf_init(&c->row);
}

void csv_finish(struct csv *c) {
    buf_finish(&c->row);
}

static int bad(struct csv *c, const char *why) {
    c->why = why;
    return -EINVAL;
}

/* Skips a line end of either form. Returns false if there is none. */
static bool take_end(struct csv *c) {
    if (c->end - c->at >= 2 && c->at[0] == '\r' && c->at[1] == '\n') c->at++;
    if (c->at == c->end || *c->at != '\n') return false;
    c->at++;
    c->next_line++;
    return true;
}

static bool ends(const struct csv *c) {
    return c->at == c->end || *c->at == '\n' ||
           (*c->at == '\r' && c->at + 1 < c->end && c->at[1] == '\n');
}

static int take_bare(struct csv *c) {
    const char *from = c->at;

    while (!ends(c) && *c->at != ',')
        c->at++;
    return buf_append(&c->row, from, (size_t)(c->at - from));
}

static int take_quoted(struct csv *c) {
    for (c->at++;;) {
        const char *from = c->at;
        int err;

        while (c->at < c->end && *c->at != '"')
            c->next_line += *c->at++ == '\n';
        err = buf_append(&c->row, from, (size_t)(c->at - from));
        if (err < 0) return err;
        if (c->at == c->end) return bad(c, "a quotation mark is not closed");
        c->at++;
        if (c->at == c->end || *c->at != '"') break;
        buf_append(&c->row, c->at++, 1); /* a doubled quote stands for one */
    }
    return ends(c) || *c->at == ',' ? 0 : bad(c, "text follows a closing quotation mark");
}

static int take_field(struct csv *c) {
    size_t from = c->row.len;
    int err;

    if (c->count == CSV_FIELDS_MAX) return bad(c, "the line has more than 8192 fields");
    c->starts[c->count++] = (uint32_t)from;
    err = c->at < c->end && *c->at == '"' ? take_quoted(c) : take_bare(c);
    if (err < 0) return err;
    if (c->row.len >= CSV_ROW_MAX) return bad(c, "the line is longer than 1 MiB");
    if (c->row.len > from && memchr(c->row.data + from, '\0', c->row.len - from))
        return bad(c, "the line contains a NUL byte");
    return buf_append(&c->row, "", 1);
}

int csv_next(struct csv *c) {
    int err;

    buf_clear(&c->row);
    c->count = 0;
    while (take_end(c))
        ;
    c->line = c->next_line;
    if (c->at == c->end) return 0;
    for (;;) {
        err = take_field(c);
        if (err < 0) return err;
        if (ends(c)) break;
        c->at++; /* skips the comma */
    }
    take_end(c);
    return 1;
}

const char *csv_field(const struct csv *c, uint32_t column) {
    return column < c->count ? (const char *)c->row.data + c->starts[column] : "";
}

int csv_find(const struct csv *c, const char *name) {
    for (uint32_t i = 0; i < c->count; i++)
        if (strcmp(csv_field(c, i), name) == 0) return (int)i;
    return -1;
}
