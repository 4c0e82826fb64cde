/* SPDX-License-Identifier: Apache-2.0
 *
 * A tensor of a request or an answer: what it is, and where its bytes are, which are somebody
 * else's. They are in row-major order, little-endian, without gaps, and at any address: whoever
 * reads them as numbers copies them. An element of BYTES is its length in four bytes and then its
 * content. Pure, for any thread.
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
    uint64_t elements; /* the product of the shape: 1 where the rank is 0 */
    const void *data;
    uint64_t bytes;
};

/* Sets `elements` by the shape; -EOVERFLOW above TENSOR_MAX_ELEMENTS, -EINVAL for a negative one.
 */
int tensor_count(struct tensor *t);

/* "[2,-1,3]" */
void tensor_write_shape(struct buf *json, const int64_t *shape, uint32_t rank);

/* Whether its bytes are what datatype and elements say; else -EINVAL, and `why` with that status.
 * `what`: "input" or "output". */
int tensor_check(const struct tensor *t, const char *what, int status, struct refusal *why);

/* The element of BYTES at *at, of a tensor that was checked; moves *at behind it. */
const char *tensor_element(const struct tensor *t, uint64_t *at, uint32_t *bytes);

#endif
