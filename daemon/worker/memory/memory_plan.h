/* SPDX-License-Identifier: Apache-2.0
 *
 * A change of what a client's pages show, done whole or not at all: begin takes all the memory that
 * the change will need, the caller fills it, run changes the mappings, end gives back what a
 * failure left unused.
 *
 * Owner: the caller's stack. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_MEMORY_MEMORY_PLAN_H
#define DAEMON_WORKER_MEMORY_MEMORY_PLAN_H

#include "daemon/worker/memory/memory_state.h"

struct memory_move {
    uint32_t page;
    struct dev_chunk *from, *to; /* NULL: shows nothing */
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

/* Room for `moves`, and so many new chunks and granules of host memory. End follows in any case. */
int memory_plan_begin(struct memory_plan *plan, struct memory *m, uint32_t moves, uint32_t made,
                      uint32_t hosts);
/* The page is to show this chunk (NULL: none). Where it does already, nothing is planned. */
void memory_plan_add(struct memory_plan *plan, uint32_t page, struct dev_chunk *to);
/* On failure every page shows what it showed before. */
int memory_plan_run(struct memory_plan *plan);
/* Returns `err`; when it is one, the new chunks and host memory are given back. */
int memory_plan_end(struct memory_plan *plan, int err);

#endif
