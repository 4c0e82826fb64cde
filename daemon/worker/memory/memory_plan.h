/* SPDX-License-Identifier: Apache-2.0
 *
 * A change of the mappings of a client's pages, done completely or not at all. memory_plan_begin
 * takes all the memory that the change will need, the caller fills it, memory_plan_run changes the
 * mappings, and memory_plan_end frees what a failure left unused.
 *
 * Owner: the caller's stack. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_MEMORY_MEMORY_PLAN_H
#define DAEMON_WORKER_MEMORY_MEMORY_PLAN_H

#include "daemon/worker/memory/memory_state.h"

struct memory_move {
    uint32_t page;
    struct dev_chunk *from, *to; /* NULL: unmapped */
};

struct memory_plan {
    struct memory *m;
    struct memory_move *moves;
    uint32_t count;
    struct dev_chunk **made; /* new chunks, zero-filled */
    void **hosts;            /* new host memory, a granule each */
    uint32_t made_count, host_count;
    struct dev_chunk **scratch;
};

/* Allocates `moves` moves, `made` new chunks and `hosts` granules of host memory. 0, -ENOMEM or
 * chunk_create's error; call memory_plan_end in any case. */
int memory_plan_begin(struct memory_plan *plan, struct memory *m, uint32_t moves, uint32_t made,
                      uint32_t hosts);
/* Plans to map the page to this chunk (NULL: none). Plans nothing where it is so already. */
void memory_plan_add(struct memory_plan *plan, uint32_t page, struct dev_chunk *to);
/* On failure every page is mapped as before. */
int memory_plan_run(struct memory_plan *plan);
/* Returns `err`; if it is an error, frees the new chunks and host memory. */
int memory_plan_end(struct memory_plan *plan, int err);

#endif
