/* SPDX-License-Identifier: Apache-2.0
 *
 * An allocator with a limit, for protobuf-c and for the graph, because a file decides how much
 * memory is requested. All memory is freed piece by piece before the allocator ends. Owner: the
 * caller. One thread.
 */
#ifndef DAEMON_PREDICT_ONNX_BOUNDED_H
#define DAEMON_PREDICT_ONNX_BOUNDED_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>

#define BOUNDED_MODEL_BYTES ((size_t)512 << 20) /* limit for one model */

struct bounded {
    size_t limit_bytes, used_bytes;
    bool refused;                 /* an allocation failed */
    ProtobufCAllocator allocator; /* the same memory as an allocator for protobuf-c */
};

void bounded_init(struct bounded *b, size_t limit_bytes);

/* Returns zeroed memory, or NULL if memory is short or the limit exceeded. Zero bytes give a valid
 * pointer. */
void *bounded_alloc(struct bounded *b, size_t count, size_t bytes);
void bounded_free(struct bounded *b, void *p);

#endif
