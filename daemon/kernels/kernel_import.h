/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables about kernels that other tools wrote, read into hints. Which tool is seen from the header:
 *   Name,Profile,Memory_footprint,SM_usage,Duration        the files of Orion's artifact
 *   ..."Kernel Name",..."Metric Name","Metric Unit","Metric Value"...   ncu --csv (details page)
 *   ..."Kernel Name",..."gpu__time_duration.sum"...        ncu --csv --page raw
 * Lines before it are what a program or the profiler said meanwhile; so are lines with == at the
 * beginning anywhere. Rows of one name and shape become one hint. Pure.
 */
#ifndef DAEMON_KERNELS_KERNEL_IMPORT_H
#define DAEMON_KERNELS_KERNEL_IMPORT_H

#include <stddef.h>

#include "daemon/kernels/kernel_set.h"

#define KERNEL_IMPORT_BYTES_MAX (256u << 20)

struct kernel_import_report {
    const char *format; /* for people */
    uint32_t rows;      /* that were read, without the header and its units */
    uint32_t hints;     /* that they became */
    char why[KERNEL_PROFILE_WHY_BYTES];
};

/* Adds the table's hints to the set's: 0; -EINVAL with what is wrong where in `why`, or -ENOMEM,
 * and the set as it was. */
int kernel_import_table(struct kernel_set *s, const char *text, size_t bytes,
                        struct kernel_import_report *report);

#endif
