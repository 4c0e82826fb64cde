/* SPDX-License-Identifier: Apache-2.0
 *
 * A table with a heading, row by row: fields by the names of their columns, faults by line.
 *
 * Owner: the caller. Thread: any.
 */
#ifndef DAEMON_SIM_PLACE_JOBSET_TABLE_H
#define DAEMON_SIM_PLACE_JOBSET_TABLE_H

#include <stdbool.h>

#include "common/text/csv.h"

#define TABLE_COLUMNS 24u
#define TABLE_FAULTS_MOST 20u /* listed; the first that is not ends it */

struct table {
    struct csv csv;
    struct buf *errors;
    const char *const *names; /* of columns, NULL behind the last */
    int at[TABLE_COLUMNS];    /* where each is in a row; -1: nowhere */
    uint32_t faults;
};

/* The heading is read. 0; -EINVAL: it is none, or the first `needed` of the names are not all in
 * it, which is listed; -ENOMEM. */
int table_begin(struct table *t, const char *const *names, uint32_t needed, const char *text,
                size_t bytes, struct buf *errors);
void table_finish(struct table *t);

/* 1: there is a row; 0: no more; -EINVAL: faults were found, here or before, and nothing is left;
 * -ENOMEM. */
int table_next(struct table *t);

/* Of the row. "" where there is no such column, or nothing in it. */
const char *table_text(const struct table *t, uint32_t column);
/* `preset` where there is nothing; what is no number from least to most is a fault, and `preset`.
 */
double table_number(struct table *t, uint32_t column, double preset, double least, double most);
/* The same; with a fraction it is a fault too. */
uint32_t table_count(struct table *t, uint32_t column, uint32_t preset, uint32_t least,
                     uint32_t most);
__attribute__((format(printf, 2, 3))) void table_fault(struct table *t, const char *fmt, ...);

#endif
