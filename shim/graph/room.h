/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses for what graphs allocate on the device, and the memory behind them. A room is whole
 * granules of addresses, which its allocations keep for as long as they exist. The launch that
 * needs it puts memory behind it, which stays there until another room needs that memory and this
 * one cannot be using it, or it is trimmed: rooms that are never in use at the same time show the
 * same memory, each at its own addresses.
 *
 * With graph_lock held but where it says otherwise. Whoever entered or dropped rooms calls
 * mem_tell without the lock, before he sends what uses them.
 */
#ifndef SHIM_GRAPH_ROOM_H
#define SHIM_GRAPH_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"
#include "shim/graph/uses.h"

struct room_chunk;

struct room {
    uint64_t addr, bytes;
    uint64_t filled;  /* bytes from its beginning that were given out as blocks */
    uint32_t holders; /* allocations in it */
    uint32_t live;    /* of these: allocated now */
    uint32_t entered; /* by launches that are being sent */
    bool stays;       /* a launch leaves something in it allocated */
    struct uses uses; /* by launches that were, and by calls that freed what is in it */
    uint32_t count;   /* chunks behind it, in the order of its addresses; 0: there is nothing */
    struct room_chunk **chunks;
    struct room *next;
};

/* With one holder; NULL: there are no addresses left. */
struct room *room_create(uint64_t bytes);
void room_hold(struct room *r);
/* The last one ends it. */
void room_drop(struct room *r);

/* A launch in this stream is about to use it: there is memory behind it, and nobody else's, until
 * room_leave. False: so many bytes are missing (room_supply), and nothing was done. */
bool room_enter(struct room *r, uint32_t stream, uint64_t *missing);
/* It was sent: as `seq` of the stream; 0: it was not. */
void room_leave(struct room *r, uint32_t stream, uint64_t seq);

/* Of cuDeviceGetGraphMemAttribute: the memory behind rooms, all of it, and the most of each. */
uint64_t room_count(CUgraphMem_attribute attr);
void room_reset(CUgraphMem_attribute attr);

/* ---- without the lock ------------------------------------------------------------------------ */

/* More memory for rooms. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult room_supply(uint64_t bytes);
/* Gives back what no room is using. */
void room_trim(void);

#endif
