/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that graphs allocate. Its address stays the same for as long as a graph could allocate it.
 * Device memory lies in an address range (address_range.h), which several allocations may share;
 * host memory is separate. The caller holds graph_lock unless stated otherwise.
 */
#ifndef SHIM_GRAPH_GRAPH_MEMORY_H
#define SHIM_GRAPH_GRAPH_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

struct graph_node;
struct address_range;

struct graph_memory {
    uint64_t addr, bytes; /* device memory has no address before its node is in a graph */
    CUmemLocation place;  /* the device, or the host as the program named it */
    uint32_t owner;       /* index of the context */
    uint32_t holders;     /* nodes that allocate or free the memory */
    bool claimed;         /* in use by an executable graph; only one at a time */
    bool live;            /* allocated by a launch, and not freed since */
    bool changing;        /* a launch that changes it is being sent: the order with other calls is
                             undefined */
    bool gone;            /* the context that owned it has ended */
    struct address_range
        *room; /* room of device memory; the members up to `replaced` belong to it */
    uint64_t capacity;
    uint32_t graph;                    /* id of the graph that allocates it */
    const struct graph_node *freed_by; /* a node of the same graph, or NULL */
    bool replaced;                     /* another allocation of that graph has its address */
    struct graph_memory *next;
    struct { /* the last use of memory that can no longer be allocated */
        uint32_t stream;
        uint64_t seq;
    } last;
};

static inline bool graph_memory_on_device(const struct graph_memory *m) {
    return m->place.type == CU_MEM_LOCATION_TYPE_DEVICE;
}

/* Call it without the lock. The memory has one holder. `place`: the device, or any place of the
 * host. */
CUresult graph_memory_create(uint32_t owner, const CUmemLocation *place, uint64_t bytes,
                             struct graph_memory **out);
/* Finds the memory that begins at this address, the latest one of several; NULL: there is none. */
struct graph_memory *graph_memory_find(uint64_t addr);
void graph_memory_hold(struct graph_memory *m);
/* Drops a node's hold. The memory ends when it has no holder and is not live. */
void graph_memory_drop(struct graph_memory *m);

/* Called when a launch leaves the memory allocated or freed. */
void graph_memory_set(struct graph_memory *m, bool live);
/* Called when the memory is live and no graph frees it. The caller then calls mem_tell without the
 * lock. */
void graph_memory_rest(struct graph_memory *m);

/* ---- called without the lock ----------------------------------------------------------------- */

/* Frees the memory by a call, after `seq` of `stream`. CUDA_ERROR_INVALID_VALUE: it is not live, or
 * a launch that is being sent allocates or frees it. */
CUresult graph_memory_free(uint64_t addr, uint32_t stream, uint64_t seq);
/* Gives back memory that has no user any more. */
void graph_memory_reap(void);
/* Called when a context ends; mem_release gives its blocks back. */
void graph_memory_release(uint32_t owner);

#endif
