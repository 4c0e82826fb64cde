/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the readers of the single formats: sums of rows by name and shape. Internal to
 * kernel_import.
 */
#ifndef DAEMON_KERNELS_KERNEL_IMPORT_PART_H
#define DAEMON_KERNELS_KERNEL_IMPORT_PART_H

#include "common/slotmap.h"
#include "common/text/csv.h"
#include "daemon/kernels/kernel_profile.h"

/* A mean over the rows that have this number; some rows may lack it. */
struct kernel_import_mean {
    double sum;
    uint32_t count;
};

struct kernel_import_sum {
    /* Name and shape; the other members are computed from the sums. */
    struct kernel_profile_hint hint;
    uint32_t votes[KERNEL_PROFILE_CLASSES];
    struct kernel_import_mean ns, sms, compute_percent, memory_percent;
};

struct kernel_import {
    struct csv csv;
    const char *format; /* name of the format, shown to users */
    uint32_t rows;      /* rows read, without the header and its line of units */
    uint32_t hints;     /* hints made from the rows */
    char why[KERNEL_PROFILE_WHY_BYTES];
    struct kernel_import_sum *sums;
    uint32_t count, cap;
    struct slotmap by_name;
};

/* Returns -EINVAL and stores the reason, prefixed with the row's line number. */
__attribute__((format(printf, 2, 3))) int kernel_import_bad(struct kernel_import *k,
                                                            const char *fmt, ...);
/* Reads the next row after the header and skips remarks of the profiler. Returns 1, 0 at the end,
 * or a negative error. */
int kernel_import_row(struct kernel_import *k);
/* Parses an unsigned number of a table, such as "12" or "1,234.50". Returns false for anything
 * else, including a number with a sign. */
bool kernel_import_number(const char *text, double *out);
void kernel_import_add(struct kernel_import_mean *mean, double value);
/* Finds or creates the sum for this name and shape (zeroes: any shape). Returns 0, -EINVAL or
 * -ENOMEM. */
int kernel_import_sum(struct kernel_import *k, const char *name, const uint32_t grid[3],
                      const uint32_t block[3], struct kernel_import_sum **out);

#endif
