/* SPDX-License-Identifier: Apache-2.0
 *
 * The last use of a resource in each stream. Work that comes after all of them has the resource to
 * itself. Not thread-safe: the caller locks.
 */
#ifndef SHIM_GRAPH_USES_H
#define SHIM_GRAPH_USES_H

#include <stdbool.h>
#include <stdint.h>

struct uses_point;

struct uses {
    struct uses_point *list;
    uint32_t count;
    bool forgotten; /* a use could not be stored for lack of memory: the resource may be in use for
                       ever */
};

void uses_add(struct uses *u, uint32_t stream, uint64_t seq);
/* True when all uses are complete, or come before anything sent to this stream now. */
bool uses_before(struct uses *u, uint32_t stream);
/* True when all uses are complete. */
bool uses_done(struct uses *u);
void uses_finish(struct uses *u);

#endif
