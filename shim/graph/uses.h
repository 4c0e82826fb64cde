/* SPDX-License-Identifier: Apache-2.0
 *
 * What used something last, in each stream: who comes behind all of it has it for himself. Not
 * thread-safe: the caller locks.
 */
#ifndef SHIM_GRAPH_USES_H
#define SHIM_GRAPH_USES_H

#include <stdbool.h>
#include <stdint.h>

struct uses_point;

struct uses {
    struct uses_point *list;
    uint32_t count;
    bool forgotten; /* there was no memory for one: it may be in use for ever */
};

void uses_add(struct uses *u, uint32_t stream, uint64_t seq);
/* They are complete, or would be before anything that is sent to this stream now. */
bool uses_before(struct uses *u, uint32_t stream);
/* They are complete. */
bool uses_done(struct uses *u);
void uses_finish(struct uses *u);

#endif
