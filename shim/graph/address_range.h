/* SPDX-License-Identifier: Apache-2.0
 *
 * Rooms: ranges of addresses for the memory that graphs allocate on the device. A room is a number
 * of granules of addresses, which its allocations keep for as long as they exist. A launch that
 * needs the room backs it with memory. The memory stays until another room needs it while this one
 * cannot be in use, or until it is trimmed. Rooms that are never in use at the same time map the
 * same memory, each at its own addresses.
 *
 * The caller holds graph_lock unless stated otherwise. After entering or dropping rooms the caller
 * calls mem_tell without the lock, before it sends operations that use them.
 */
#ifndef SHIM_GRAPH_ADDRESS_RANGE_H
#define SHIM_GRAPH_ADDRESS_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"
#include "shim/graph/uses.h"

struct address_chunk;

struct address_range {
    uint64_t addr, bytes;
    uint64_t filled;  /* bytes from its beginning that were given to allocations */
    uint32_t holders; /* allocations in the room */
    uint32_t live;    /* allocations that are live now */
    uint32_t entered; /* launches being sent that use the room */
    bool stays;       /* a launch leaves an allocation in it live */
    struct uses uses; /* uses by launches that were sent, and by calls that freed memory in it */
    uint32_t count;   /* chunks that back it, in the order of its addresses; 0: not backed */
    struct address_chunk **chunks;
    struct address_range *next;
};

/* Creates a room with one holder; NULL: no addresses are left. */
struct address_range *address_range_create(uint64_t bytes);
void address_range_hold(struct address_range *r);
/* Drops a hold. The last one frees the room. */
void address_range_drop(struct address_range *r);

/* Prepares the room for a launch in this stream: it is backed, and no other room has the memory
 * until address_range_leave. False: nothing was done, because `missing` bytes must be supplied
 * (address_range_supply). */
bool address_range_enter(struct address_range *r, uint32_t stream, uint64_t *missing);
/* Called when the launch was sent, as `seq` of the stream; 0: it was not sent. */
void address_range_leave(struct address_range *r, uint32_t stream, uint64_t seq);

/* Counters of cuDeviceGetGraphMemAttribute, in bytes: the memory that backs rooms, all memory
 * allocated for rooms, and the high watermark of each. address_range_reset lowers a high watermark
 * to the current value. */
uint64_t address_range_count(CUgraphMem_attribute attr);
void address_range_reset(CUgraphMem_attribute attr);

/* ---- called without the lock ----------------------------------------------------------------- */

/* Allocates more memory for rooms, or gives CUDA_ERROR_OUT_OF_MEMORY. */
CUresult address_range_supply(uint64_t bytes);
/* Gives back memory that no room is using. */
void address_range_trim(void);

#endif
