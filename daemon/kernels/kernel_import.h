/* SPDX-License-Identifier: Apache-2.0
 *
 * Imports kernel tables that other tools wrote as hints. The header identifies the tool:
 *
 *   Name,Profile,Memory_footprint,SM_usage,Duration        the files of Orion's artifact
 *   ..."Kernel Name",..."Metric Name","Metric Unit","Metric Value"...   ncu --csv (details page)
 *   ..."Kernel Name",..."gpu__time_duration.sum"...        ncu --csv --page raw
 *
 * Lines before the header are output of the program or the profiler and are skipped, as are lines
 * anywhere that begin with "==". Rows with the same name and shape become one hint. Pure.
 */
#ifndef DAEMON_KERNELS_KERNEL_IMPORT_H
#define DAEMON_KERNELS_KERNEL_IMPORT_H

#include <stddef.h>

#include "daemon/kernels/kernel_set.h"

#define KERNEL_IMPORT_BYTES_MAX (256u << 20)

struct kernel_import_report {
    const char *format; /* name of the format, shown to users */
    uint32_t rows;      /* rows read, without the header and its line of units */
    uint32_t hints;     /* hints made from the rows */
    char why[KERNEL_PROFILE_WHY_BYTES];
};

/* Adds the table's hints to the set. Returns 0, -EINVAL with the line and the reason in `why`, or
 * -ENOMEM. On failure the set is unchanged. */
int kernel_import_table(struct kernel_set *s, const char *text, size_t bytes,
                        struct kernel_import_report *report);

#endif
