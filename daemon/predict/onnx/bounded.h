/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory up to a limit, for protobuf-c and for what a graph is made into: a file decides how much
 * is asked for. Everything that was taken is given back before the end. Owner: the caller. One
 * thread.
 */
#ifndef DAEMON_PREDICT_ONNX_BOUNDED_H
#define DAEMON_PREDICT_ONNX_BOUNDED_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>

#define BOUNDED_MODEL_BYTES ((size_t)512 << 20) /* what one model may take */

struct bounded {
    size_t limit_bytes, used_bytes;
    bool refused;                 /* something was asked for that was not there */
    ProtobufCAllocator allocator; /* of the same memory, as protobuf-c takes it */
};

void bounded_init(struct bounded *b, size_t limit_bytes);

/* Zeroed; NULL beyond the limit too. Zero bytes give a valid pointer. */
void *bounded_alloc(struct bounded *b, size_t count, size_t bytes);
void bounded_free(struct bounded *b, void *p);

#endif
