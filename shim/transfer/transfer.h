/* SPDX-License-Identifier: Apache-2.0
 *
 * Carries out copies, in a way that depends on the two places. Places that the worker can access
 * are copied by one record; pageable memory passes through staging.
 */
#ifndef SHIM_TRANSFER_TRANSFER_H
#define SHIM_TRANSFER_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"
#include "proto/wire/wire.h"

struct stream;

/* Width, pitches and slices in bytes; height in rows, depth in slices. A plain copy has height and
 * depth 1, and ignores pitches and slices. */
struct transfer {
    uint64_t dst, src;
    uint64_t width, height, depth;
    uint64_t dst_pitch, src_pitch, dst_slice, src_slice;
};

#define TRANSFER_DST_DEVICE 1u /* the destination must be device memory */
#define TRANSFER_SRC_DEVICE 2u /* the source must be device memory */
#define TRANSFER_ASYNC 4u      /* the program made an asynchronous call */

/* The kinds of the two places of a checked transfer, which decide how it is carried out. */
struct transfer_places {
    bool dst_pageable, src_pageable, dst_pinned, src_pinned;
};

/* Checks and simplifies: rows without gaps become one row, addresses become those that the worker
 * can access. CUDA_ERROR_INVALID_VALUE for a copy outside of the program's memory. A copy of
 * nothing has width 0 afterwards. */
CUresult transfer_check(struct transfer *t, unsigned int flags, struct transfer_places *places);

/* The record of a transfer whose places the worker can access both; without stream and number. */
struct wire_copy transfer_record(const struct transfer *t);

/* The rectangles of a checked transfer that fit into `bytes` of memory without gaps, one a call;
 * false: no more. */
struct transfer_rect {
    uint64_t dst, src, width, rows;
};
struct transfer_walk {
    const struct transfer *t;
    uint64_t bytes, slice, row, column;
};
bool transfer_next(struct transfer_walk *w, struct transfer_rect *r);

/* Copies rows of memory that this process can access. */
void transfer_rows(uint64_t dst, uint64_t dst_pitch, uint64_t src, uint64_t src_pitch,
                   uint64_t width, uint64_t rows);

/* Follows CUDA's rules on when the call returns. With pageable memory: when the program's buffer is
 * no longer needed or is filled. With pinned memory: at once if asynchronous, else when the copy is
 * complete. Between two places of the device: at once, unless SYNC_MEMOPS is set for one of them or
 * for the context and the call is synchronous. */
CUresult transfer_run(const struct transfer *asked, const struct stream *s, unsigned int flags);

#endif
