/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that graphs allocate. Its address stays for as long as a graph could allocate it. That of
 * the device is in a room (room.h), which others may share; that of the host is its own. With
 * graph_lock held but where it says otherwise.
 */
#ifndef SHIM_GRAPH_GRAPH_MEMORY_H
#define SHIM_GRAPH_GRAPH_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

struct graph_node;
struct room;

struct graph_memory {
    uint64_t addr, bytes; /* of the device: has no address before its node is in a graph */
    CUmemLocation place;  /* the device, or as the program named the host */
    uint32_t owner;       /* index of the context */
    uint32_t holders;     /* nodes that allocate or free it */
    bool claimed;         /* by an executable graph: one at a time */
    bool live;            /* allocated by a launch, and not freed by one or by a call since */
    bool changing;        /* by a launch that is being sent: nobody can say in which order */
    bool gone;            /* with its context */
    struct room *room;    /* of the device; and how much of it, and where it was allocated: */
    uint64_t capacity;
    uint32_t graph;                    /* its id */
    const struct graph_node *freed_by; /* of the same graph; NULL */
    bool replaced;                     /* another allocation of that graph has its place */
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
/* What begins at this address, of several the latest; NULL: none does. */
struct graph_memory *graph_memory_find(uint64_t addr);
void graph_memory_hold(struct graph_memory *m);
/* By a node; it goes when nobody holds it and it is not live. */
void graph_memory_drop(struct graph_memory *m);

/* A launch leaves it allocated, or freed. */
void graph_memory_set(struct graph_memory *m, bool live);
/* It is live, and freed by no graph: mem_tell follows, without the lock. */
void graph_memory_rest(struct graph_memory *m);

/* ---- without the lock ------------------------------------------------------------------------ */

/* A call frees it, behind `seq` of `stream`. CUDA_ERROR_INVALID_VALUE: it is not live, or a launch
 * beside the call allocates or frees it. */
CUresult graph_memory_free(uint64_t addr, uint32_t stream, uint64_t seq);
/* Gives back what nothing uses any more. */
void graph_memory_reap(void);
/* The context ends, and mem_release gives its blocks back. */
void graph_memory_release(uint32_t owner);

#endif
