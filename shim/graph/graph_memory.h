/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that graphs allocate. Its address stays for as long as a graph could allocate it, with
 * what lies behind it. That of the device is of the ephemeral window; the worker takes it for alive
 * from the node that allocates it to the one, or the call, that frees it. That of the host is
 * nobody's affair but ours. With graph_lock held but where it says otherwise.
 */
#ifndef SHIM_GRAPH_GRAPH_MEMORY_H
#define SHIM_GRAPH_GRAPH_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda_abi.h"

struct graph_memory {
    uint64_t addr, bytes;
    CUmemLocation place; /* the device, or as the program named the host */
    uint32_t owner;      /* index of the context */
    uint32_t holders;    /* nodes that allocate or free it */
    bool claimed;        /* by an executable graph: one at a time */
    bool live;           /* allocated by a launch, and not freed by one or by a call since */
    bool gone;           /* with its context */
    struct graph_memory *next;
    struct { /* nobody can allocate it any more, and this was the last that used it */
        uint32_t stream;
        uint64_t seq;
    } last;
};

static inline bool graph_memory_on_device(const struct graph_memory *m) {
    return m->place.type == CU_MEM_LOCATION_TYPE_DEVICE;
}

/* Without the lock. With one holder. `place`: the device, or any of the host. */
CUresult graph_memory_create(uint32_t owner, const CUmemLocation *place, uint64_t bytes,
                             struct graph_memory **out);
/* What begins at this address; NULL: none does. */
struct graph_memory *graph_memory_find(uint64_t addr);
void graph_memory_hold(struct graph_memory *m);
/* By a node; it goes when nobody holds it and it is not live. */
void graph_memory_drop(struct graph_memory *m);

/* A launch finds it alive that allocates it: the worker is to be told (mem_tell, without the lock)
 * that it was freed. */
void graph_memory_rest(const struct graph_memory *m);
/* A launch leaves it allocated, or freed. */
void graph_memory_set(struct graph_memory *m, bool live);
/* Bytes of the device that are allocated now, that graphs have in all, and the most of each since
 * they were set to 0; of cuDeviceGetGraphMemAttribute. */
uint64_t graph_memory_count(CUgraphMem_attribute attr);
void graph_memory_reset(CUgraphMem_attribute attr);

/* ---- without the lock ------------------------------------------------------------------------ */

/* A call frees it, behind `seq` of `stream`. CUDA_ERROR_INVALID_VALUE: it is not live. */
CUresult graph_memory_free(uint64_t addr, uint32_t stream, uint64_t seq);
/* Gives back what nothing uses any more. */
void graph_memory_reap(void);
/* The context ends, and mem_release gives its blocks back. */
void graph_memory_release(uint32_t owner);

#endif
