/* SPDX-License-Identifier: Apache-2.0
 *
 * How many blocks of a kernel one multiprocessor holds, from the numbers of both alone: the rules
 * of NVIDIA's cuda_occupancy.h for compute capabilities 7 to 12, without what a kernel's named
 * barriers cost there. Pure; any thread.
 */
#ifndef PROTO_CUDA_OCCUPANCY_H
#define PROTO_CUDA_OCCUPANCY_H

#include <stdint.h>

/* What a multiprocessor has, and what a block of any kernel costs and may cost there. */
struct occupancy_sm {
    uint32_t threads, blocks, regs, shared_bytes;
    uint32_t shared_reserved_bytes; /* the system's, of each block */
    uint32_t shared_optin_bytes;    /* of one block, at most */
    uint32_t shared_unit;           /* in which it is given to blocks: occupancy_shared_unit */
};

struct occupancy_block {
    uint32_t threads;
    uint32_t regs;         /* of a thread */
    uint64_t shared_bytes; /* static and dynamic */
};

/* Bytes, by the major number of a compute capability. */
uint32_t occupancy_shared_unit(uint32_t cc_major);

/* 0 when not even one fits. */
uint32_t occupancy_blocks(const struct occupancy_sm *sm, const struct occupancy_block *block);

/* Multiprocessors that a grid fills when it has them to itself (Orion, section 5.2), be there so
 * many or not; 0 when no block fits, UINT32_MAX for more. */
uint32_t occupancy_sms(const struct occupancy_sm *sm, const struct occupancy_block *block,
                       uint64_t blocks);

#endif
