/* SPDX-License-Identifier: Apache-2.0
 *
 * Number of blocks of a kernel that one multiprocessor holds, computed only from the numbers of
 * both. The rules are those of NVIDIA's cuda_occupancy.h for compute capabilities 7 to 12, without
 * the cost of a kernel's named barriers. Pure; any thread.
 */
#ifndef PROTO_CUDA_OCCUPANCY_H
#define PROTO_CUDA_OCCUPANCY_H

#include <stdint.h>

/* Resources of a multiprocessor, and the costs and limits of a block of any kernel. */
struct occupancy_sm {
    uint32_t threads, blocks, regs, shared_bytes;
    uint32_t shared_reserved_bytes; /* reserved by the system, for each block */
    uint32_t shared_optin_bytes;    /* limit for one block */
    uint32_t shared_unit;           /* unit of allocation to blocks: occupancy_shared_unit */
};

struct occupancy_block {
    uint32_t threads;
    uint32_t regs;         /* per thread */
    uint64_t shared_bytes; /* static and dynamic */
};

/* Unit in bytes, by the major number of a compute capability. */
uint32_t occupancy_shared_unit(uint32_t cc_major);

/* Returns 0 when not even one block fits. */
uint32_t occupancy_blocks(const struct occupancy_sm *sm, const struct occupancy_block *block);

/* Number of multiprocessors that a grid fills when it has the device to itself (Orion, section
 * 5.2), even if the device has fewer; 0 when no block fits, UINT32_MAX for more. */
uint32_t occupancy_sms(const struct occupancy_sm *sm, const struct occupancy_block *block,
                       uint64_t blocks);

#endif
