/* SPDX-License-Identifier: Apache-2.0
 *
 * Carrying out a copy: what the two places are decides how. Places that the worker sees are copied
 * by one record; pageable memory passes through staging.
 */
#ifndef SHIM_TRANSFER_TRANSFER_H
#define SHIM_TRANSFER_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/cuda_abi.h"
#include "proto/wire/wire.h"

struct stream;

/* Bytes. A plain copy has height and depth 1; then pitches and slices do not matter. */
struct transfer {
    uint64_t dst, src;
    uint64_t width, height, depth;
    uint64_t dst_pitch, src_pitch, dst_slice, src_slice;
};

#define TRANSFER_DST_DEVICE 1u /* the destination must be the device's */
#define TRANSFER_SRC_DEVICE 2u
#define TRANSFER_ASYNC 4u

/* Where the two places of a checked transfer are, which decides how it is carried out. */
struct transfer_places {
    bool dst_pageable, src_pageable, dst_pinned, src_pinned;
};

/* Checks and simplifies: rows without gaps become one, addresses those that the worker sees.
 * CUDA_ERROR_INVALID_VALUE for what is no copy of memory that the program has. Of one that copies
 * nothing, width is 0 afterwards. */
CUresult transfer_check(struct transfer *t, unsigned int flags, struct transfer_places *places);

/* The record of one whose places the worker sees both; without stream and number. */
struct wire_copy transfer_record(const struct transfer *t);

/* Rectangles of a checked transfer that fit into `bytes` of memory without gaps, one a call; false:
 * no more. */
struct transfer_rect {
    uint64_t dst, src, width, rows;
};
struct transfer_walk {
    const struct transfer *t;
    uint64_t bytes, slice, row, column;
};
bool transfer_next(struct transfer_walk *w, struct transfer_rect *r);

/* Rows of memory that this process can reach. */
void transfer_rows(uint64_t dst, uint64_t dst_pitch, uint64_t src, uint64_t src_pitch,
                   uint64_t width, uint64_t rows);

/* CUDA's rules on when it returns: with pageable memory when the program's buffer is no longer
 * needed or is filled; with pinned memory at once if asynchronous, else when it is complete. */
CUresult transfer_run(const struct transfer *asked, const struct stream *s, unsigned int flags);

#endif
