/* SPDX-License-Identifier: Apache-2.0
 *
 * What the readers of single formats share: rows that were added up by name and shape. Of kimport
 * alone.
 */
#ifndef DAEMON_KERNELS_KIMPORT_PART_H
#define DAEMON_KERNELS_KIMPORT_PART_H

#include "common/csv.h"
#include "common/slotmap.h"
#include "daemon/kernels/kprofile.h"

/* Means of numbers of which some rows have none. */
struct kimport_mean {
    double sum;
    uint32_t count;
};

struct kimport_sum {
    struct kprofile_hint hint; /* name and shape; the rest comes out of the sums */
    uint32_t votes[KPROFILE_CLASSES];
    struct kimport_mean ns, sms, compute_percent, memory_percent;
};

struct kimport {
    struct csv csv;
    const char *format; /* for people */
    uint32_t rows;      /* that were read, without the header and its units */
    uint32_t hints;     /* that they became */
    char why[KPROFILE_WHY_BYTES];
    struct kimport_sum *sums;
    uint32_t count, cap;
    struct slotmap by_name;
};

/* -EINVAL; the reason gets the row's line in front. */
__attribute__((format(printf, 2, 3))) int kimport_bad(struct kimport *k, const char *fmt, ...);
/* The next row after the header that is no remark of the profiler: 1, 0, or negative. */
int kimport_row(struct kimport *k);
/* A number of a table: "12", "1,234.50". False where it is none; a sign makes it none. */
bool kimport_number(const char *text, double *out);
void kimport_add(struct kimport_mean *mean, double value);
/* Where rows of this name and shape (zeroes: any) are added up: 0, -EINVAL, -ENOMEM. */
int kimport_sum(struct kimport *k, const char *name, const uint32_t grid[3],
                const uint32_t block[3], struct kimport_sum **out);

/* Is the row of the header one of this format's, and the rows after it: 0 or negative. */
bool kimport_is_orion(const struct csv *header);
int kimport_orion(struct kimport *k);
bool kimport_is_ncu(const struct csv *header);
int kimport_ncu(struct kimport *k);

#endif
