/* SPDX-License-Identifier: Apache-2.0
 *
 * Comma-separated values, one row at a time (RFC 4180). A field in double quotes may hold commas,
 * line ends and doubled quotes; a quote within a bare field is an ordinary character. Empty lines
 * are skipped. The caller owns the text, which is not changed. Not thread-safe.
 */
#ifndef COMMON_TEXT_CSV_H
#define COMMON_TEXT_CSV_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

#define CSV_FIELDS_MAX 8192u
#define CSV_ROW_MAX (1u << 20) /* bytes */

struct csv {
    const char *at, *end; /* text not read yet */
    uint32_t line;        /* line on which the row begins, counted from 1 */
    uint32_t count;       /* fields of the row */
    const char *why;      /* reason of -EINVAL */

    uint32_t next_line;
    struct buf row;
    uint32_t starts[CSV_FIELDS_MAX];
};

void csv_init(struct csv *c, const char *text, size_t bytes);
void csv_finish(struct csv *c);

/* Returns 1: a row was read; 0: there is no more; -EINVAL with `why` and the line; -ENOMEM. */
int csv_next(struct csv *c);

/* Returns a field, or "" if the row has no such field. Valid until the next row. */
const char *csv_field(const struct csv *c, uint32_t column);
/* Returns the index of the first field with exactly this text, or -1. */
int csv_find(const struct csv *c, const char *name);

#endif
