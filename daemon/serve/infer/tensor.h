/* SPDX-License-Identifier: Apache-2.0
 *
 * A tensor of a request or a response: its type, and a pointer to bytes owned elsewhere. The bytes
 * are row-major and little-endian, without gaps, and at any alignment: copy them to read numbers.
 * An element of BYTES is its length in four bytes, followed by its content. Pure, for any thread.
 */
#ifndef DAEMON_SERVE_INFER_TENSOR_H
#define DAEMON_SERVE_INFER_TENSOR_H

#include <stdint.h>

#include "daemon/serve/infer/refusal.h"
#include "proto/serve/datatype.h"

#define TENSOR_MAX_RANK 16
#define TENSOR_MAX_NAME_BYTES 255
#define TENSOR_MAX_ELEMENTS (UINT64_C(1) << 32)

struct tensor {
    const char *name;
    enum datatype type;
    uint32_t rank;
    int64_t shape[TENSOR_MAX_RANK];
    uint64_t elements; /* product of the shape; 1 for rank 0 */
    const void *data;
    uint64_t bytes;
};

/* Computes `elements` from the shape. Returns -EOVERFLOW above TENSOR_MAX_ELEMENTS, -EINVAL for a
 * negative dimension. */
int tensor_count(struct tensor *t);

/* Writes a shape such as "[2,-1,3]". */
void tensor_write_shape(struct buf *json, const int64_t *shape, uint32_t rank);

/* Checks the bytes against datatype and elements. Returns 0, or -EINVAL with this status in `why`.
 * `what`: "input" or "output". */
int tensor_check(const struct tensor *t, const char *what, int status, struct refusal *why);

/* The BYTES element at *at of a checked tensor; advances *at past it. */
const char *tensor_element(const struct tensor *t, uint64_t *at, uint32_t *bytes);

#endif
