/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks what any honest client's record satisfies, before it is acted on: a known operation, the
 * exact length, ids below their limits, dimensions that CUDA allows, sizes whose sums do not wrap.
 * The reader checks whether the ids and addresses belong to this client.
 */
#ifndef PROTO_WIRE_RECORD_H
#define PROTO_WIRE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cuda/array_layout.h"
#include "proto/wire/wire.h"

#define RECORD_IMAGE_MAX (512ull << 20) /* bytes of a module's image */
#define RECORD_WHY_MAX 65536u
/* Parameters of one kernel: each takes at least a byte. */
#define RECORD_PARAMS_MAX WIRE_PARAM_MAX
#define RECORD_EXTENT_MAX (1ull << 48)

/* `rec` is private memory, aligned to 8. Returns 0, or ERR_PROTOCOL with the error in `why`.
 * Pure. */
int record_check(const void *rec, uint32_t bytes, char *why, size_t why_bytes);

/* Returns "LAUNCH" and so on, or "?" if there is no such operation. */
const char *record_name(uint16_t op);

/* True for operations that are numbered and ordered within their stream. */
static inline int record_ordered(uint16_t op) {
    return (op >= WIRE_LAUNCH && op <= WIRE_HOST_FUNC) || op == WIRE_VALUE_WAIT ||
           op == WIRE_VALUE_WRITE || op == WIRE_GRAPH_CHOICE || op == WIRE_GRAPH_SETTLE;
}

/* Bytes from the first to the last that a checked texture may touch. */
uint64_t record_texture_bytes(const struct wire_texture *t);

/* record_array_shape: gives the shape of an array's first level; dimensions that it lacks become 1.
 * Returns false if there are no such elements. record_array_levels: its number of levels, at least
 * 1. */
bool record_array_shape(const struct wire_array *a, struct array_shape *out);
static inline uint32_t record_array_levels(const struct wire_array *a) {
    return a->levels ? a->levels : 1;
}

/* Bytes from the first to the last that one side of a checked copy touches. */
static inline uint64_t record_extent(uint64_t width, uint64_t height, uint64_t depth,
                                     uint64_t pitch, uint64_t slice) {
    return (depth - 1) * slice + (height - 1) * pitch + width;
}

#endif
