/* SPDX-License-Identifier: Apache-2.0
 *
 * A table with a heading, read row by row: fields by the names of their columns, errors by line.
 *
 * Owner: the caller. Thread: any.
 */
#ifndef DAEMON_SIM_PLACE_JOBSET_TABLE_H
#define DAEMON_SIM_PLACE_JOBSET_TABLE_H

#include <stdbool.h>

#include "common/text/csv.h"

#define TABLE_COLUMNS 24u
#define TABLE_FAULTS_MOST 20u /* listed errors; the next one ends reading */

struct table {
    struct csv csv;
    struct buf *errors;
    const char *const *names; /* names of columns, ended by NULL */
    int at[TABLE_COLUMNS];    /* per name: column in the rows; -1: missing */
    uint32_t faults;
};

/* Reads the heading. Returns 0, -ENOMEM, or -EINVAL if the heading is invalid or lacks one of the
 * first `needed` names; these are listed. */
int table_begin(struct table *t, const char *const *names, uint32_t needed, const char *text,
                size_t bytes, struct buf *errors);
void table_finish(struct table *t);

/* Returns 1 for a row, 0 at the end, -ENOMEM, or -EINVAL at the end if any row had an error. */
int table_next(struct table *t);

/* A field of the row; "" if the column is missing or the field is empty. */
const char *table_text(const struct table *t, uint32_t column);
/* A number from least to most; an empty field gives `preset`. Any other text is an error and gives
 * `preset` too. */
double table_number(struct table *t, uint32_t column, double preset, double least, double most);
/* Like table_number, but a fraction is an error too. */
uint32_t table_count(struct table *t, uint32_t column, uint32_t preset, uint32_t least,
                     uint32_t most);
__attribute__((format(printf, 2, 3))) void table_fault(struct table *t, const char *fmt, ...);

#endif
