/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks up names in the generated map of base names and versions.
 */
#include "proto/procaddr.h"

#include <string.h>

#include "proto/gen/procaddr_rows.h"

/* Returns the first row whose name is not below `name`. */
static size_t first_row(const char *name) {
    size_t low = 0, high = procaddr_rows_count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (strcmp(procaddr_rows[mid].name, name) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

unsigned int procaddr_find(const char *name, int version, uint64_t flags,
                           CUdriverProcAddressQueryResult *why) {
    const struct procaddr_row *best = NULL;
    int newer = 0; /* the name exists, but only at a newer version */

    *why = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (!name) return 0;
    for (size_t i = first_row(name); i < procaddr_rows_count; i++) {
        const struct procaddr_row *row = &procaddr_rows[i];
        if (strcmp(row->name, name) != 0) break;
        if (row->since <= version)
            best = row;
        else
            newer = 1;
    }
    if (!best) {
        if (newer) *why = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
        return 0;
    }
    *why = CU_GET_PROC_ADDRESS_SUCCESS;
    if (best->twin && (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)) return best->twin;
    return best->call;
}
