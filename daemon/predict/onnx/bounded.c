/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/predict/onnx/bounded.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>

/* Header before each allocation, for its accounting. */
struct head {
    alignas(max_align_t) size_t bytes;
};

void *bounded_alloc(struct bounded *b, size_t count, size_t bytes) {
    struct head *h;
    size_t whole;

    if (__builtin_mul_overflow(count, bytes, &whole) ||
        __builtin_add_overflow(whole, sizeof(*h), &whole) ||
        whole > b->limit_bytes - b->used_bytes || !(h = calloc(1, whole))) {
        b->refused = true;
        return NULL;
    }
    h->bytes = whole;
    b->used_bytes += whole;
    return h + 1;
}

void bounded_free(struct bounded *b, void *p) {
    struct head *h = p;

    if (!h) return;
    b->used_bytes -= (--h)->bytes;
    free(h);
}

static void *take(void *owner, size_t bytes) {
    return bounded_alloc(owner, 1, bytes);
}

static void give(void *owner, void *p) {
    bounded_free(owner, p);
}

void bounded_init(struct bounded *b, size_t limit_bytes) {
    *b = (struct bounded){.limit_bytes = limit_bytes};
    b->allocator = (ProtobufCAllocator){take, give, b};
}
