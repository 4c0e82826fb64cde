/* SPDX-License-Identifier: Apache-2.0
 *
 * Positions in streams, each in one word, so that a query never reads half of another thread's
 * record.
 */
#ifndef SHIM_CONTEXT_STAMP_H
#define SHIM_CONTEXT_STAMP_H

#include <stdint.h>

#include "proto/wire/wire.h"

/* A position; seq 0 stands for none. */
struct stamp_point {
    uint32_t stream;
    uint64_t seq;
};

/* 2^44 records of one stream last half a year at a million a second. */
#define STAMP_SEQ_BITS 44
_Static_assert(WIRE_STREAMS <= 1u << (64 - STAMP_SEQ_BITS), "stream ids fit into a stamp");

static inline uint64_t stamp_make(uint32_t stream, uint64_t seq) {
    return (uint64_t)stream << STAMP_SEQ_BITS | seq;
}

static inline struct stamp_point stamp_point(uint64_t stamp) {
    return (struct stamp_point){(uint32_t)(stamp >> STAMP_SEQ_BITS),
                                stamp & ((1ull << STAMP_SEQ_BITS) - 1)};
}

#endif
