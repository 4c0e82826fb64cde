/* SPDX-License-Identifier: Apache-2.0
 *
 * Clients choose the shapes, so every product is bounded.
 */
#include "daemon/serve/infer/tensor.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "daemon/serve/infer/text.h"

int tensor_count(struct tensor *t) {
    uint64_t product = 1;
    bool none = false;

    for (uint32_t i = 0; i < t->rank; i++) {
        if (t->shape[i] < 0) return -EINVAL;
        if (t->shape[i] == 0) none = true;
    }
    /* A dimension of 0 makes the product 0, wherever it is. */
    for (uint32_t i = 0; i < t->rank && !none; i++)
        if (__builtin_mul_overflow(product, (uint64_t)t->shape[i], &product) ||
            product > TENSOR_MAX_ELEMENTS)
            return -EOVERFLOW;
    t->elements = none ? 0 : product;
    return 0;
}

void tensor_write_shape(struct buf *json, const int64_t *shape, uint32_t rank) {
    buf_append(json, "[", 1);
    for (uint32_t i = 0; i < rank; i++) {
        if (i) buf_append(json, ",", 1);
        text_decimal(json, shape[i]);
    }
    buf_append(json, "]", 1);
}

static uint32_t length_at(const struct tensor *t, uint64_t at) {
    const unsigned char *p = (const unsigned char *)t->data + at;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static int check_elements(const struct tensor *t, const char *what, int status,
                          struct refusal *why) {
    uint64_t at = 0;

    for (uint64_t i = 0; i < t->elements; i++) {
        if (t->bytes - at < 4 || t->bytes - at - 4 < length_at(t, at))
            return refusal_say(
                why, status,
                "%s \"%.64s\": element %" PRIu64 " of %" PRIu64 " exceeds its %" PRIu64
                " bytes: send each element as its length in 4 bytes, then its content",
                what, t->name, i, t->elements, t->bytes);
        at += 4 + (uint64_t)length_at(t, at);
    }
    if (at == t->bytes) return 0;
    return refusal_say(why, status,
                       "%s \"%.64s\": %" PRIu64 " bytes follow its %" PRIu64
                       " elements: shape and data must agree",
                       what, t->name, t->bytes - at, t->elements);
}

static int check_bools(const struct tensor *t, const char *what, int status, struct refusal *why) {
    const unsigned char *p = t->data;

    for (uint64_t i = 0; i < t->bytes; i++)
        if (p[i] > 1)
            return refusal_say(why, status,
                               "%s \"%.64s\": byte %" PRIu64 " is %u: a BOOL must be 0 or 1", what,
                               t->name, i, p[i]);
    return 0;
}

int tensor_check(const struct tensor *t, const char *what, int status, struct refusal *why) {
    uint64_t each = datatype_bytes(t->type);

    if (t->type == DATATYPE_BYTES) return check_elements(t, what, status, why);
    if (t->bytes != t->elements * each)
        return refusal_say(why, status,
                           "%s \"%.64s\": %" PRIu64 " bytes of data, but %" PRIu64
                           " elements of %s are %" PRIu64 ": shape, datatype and data must agree",
                           what, t->name, t->bytes, t->elements, datatype_name(t->type),
                           t->elements * each);
    return t->type == DATATYPE_BOOL ? check_bools(t, what, status, why) : 0;
}

const char *tensor_element(const struct tensor *t, uint64_t *at, uint32_t *bytes) {
    const char *content = (const char *)t->data + *at + 4;

    *bytes = length_at(t, *at);
    *at += 4 + (uint64_t)*bytes;
    return content;
}
