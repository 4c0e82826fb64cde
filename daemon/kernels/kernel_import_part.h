/* SPDX-License-Identifier: Apache-2.0
 *
 * What the readers of single formats share: rows that were added up by name and shape. Of
 * kernel_import alone.
 */
#ifndef DAEMON_KERNELS_KERNEL_IMPORT_PART_H
#define DAEMON_KERNELS_KERNEL_IMPORT_PART_H

#include "common/slotmap.h"
#include "common/text/csv.h"
#include "daemon/kernels/kernel_profile.h"

/* Means of numbers of which some rows have none. */
struct kernel_import_mean {
    double sum;
    uint32_t count;
};

struct kernel_import_sum {
    struct kernel_profile_hint hint; /* name and shape; the rest comes out of the sums */
    uint32_t votes[KERNEL_PROFILE_CLASSES];
    struct kernel_import_mean ns, sms, compute_percent, memory_percent;
};

struct kernel_import {
    struct csv csv;
    const char *format; /* for people */
    uint32_t rows;      /* that were read, without the header and its units */
    uint32_t hints;     /* that they became */
    char why[KERNEL_PROFILE_WHY_BYTES];
    struct kernel_import_sum *sums;
    uint32_t count, cap;
    struct slotmap by_name;
};

/* -EINVAL; the reason gets the row's line in front. */
__attribute__((format(printf, 2, 3))) int kernel_import_bad(struct kernel_import *k,
                                                            const char *fmt, ...);
/* The next row after the header that is no remark of the profiler: 1, 0, or negative. */
int kernel_import_row(struct kernel_import *k);
/* A number of a table: "12", "1,234.50". False where it is none; a sign makes it none. */
bool kernel_import_number(const char *text, double *out);
void kernel_import_add(struct kernel_import_mean *mean, double value);
/* Where rows of this name and shape (zeroes: any) are added up: 0, -EINVAL, -ENOMEM. */
int kernel_import_sum(struct kernel_import *k, const char *name, const uint32_t grid[3],
                      const uint32_t block[3], struct kernel_import_sum **out);

#endif
