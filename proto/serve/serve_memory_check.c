/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks of every tensor, from the gateway and from model programs. Products are checked for
 * overflow at every step.
 */
#include "proto/serve/serve_memory_check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

static bool is_name(const char *name) {
    size_t n = strnlen(name, SERVE_WIRE_MAX_NAME_BYTES + 1);

    for (size_t i = 0; i < n; i++)
        if ((unsigned char)name[i] < ' ' || name[i] == 127) return false;
    return n > 0 && n <= SERVE_WIRE_MAX_NAME_BYTES;
}

/* Counts the elements. Returns -EOVERFLOW if 64 bits cannot hold the number, -EINVAL for a negative
 * dimension. */
static int count_elements(const struct serve_memory_tensor *t, uint64_t *elements) {
    bool none = false;

    *elements = 1;
    for (uint32_t i = 0; i < t->rank; i++) {
        if (t->shape[i] < 0) return -EINVAL;
        none |= t->shape[i] == 0;
    }
    for (uint32_t i = 0; i < t->rank && !none; i++)
        if (__builtin_mul_overflow(*elements, (uint64_t)t->shape[i], elements)) return -EOVERFLOW;
    if (none) *elements = 0;
    return 0;
}

static int check_lengths(const struct serve_memory_tensor *t, uint64_t elements,
                         struct serve_memory_why *why) {
    const unsigned char *p = t->data;
    uint64_t left = t->bytes;

    for (uint64_t i = 0; i < elements; i++) {
        uint32_t bytes = 0;
        if (left >= sizeof(bytes)) memcpy(&bytes, p, sizeof(bytes));
        if (left < sizeof(bytes) || left - sizeof(bytes) < bytes)
            return serve_memory_say(why, "element %" PRIu64 " goes beyond its %" PRIu64 " bytes", i,
                                    t->bytes);
        p += sizeof(bytes) + bytes;
        left -= sizeof(bytes) + bytes;
    }
    if (left == 0) return 0;
    return serve_memory_say(why, "%" PRIu64 " bytes are left behind its elements", left);
}

static int check_bytes(const struct serve_memory_tensor *t, struct serve_memory_why *why) {
    uint64_t elements, wanted;
    int err = count_elements(t, &elements);

    if (err == -EINVAL) return serve_memory_say(why, "a dimension of its shape is negative");
    if (!err && t->type == DATATYPE_BYTES) return check_lengths(t, elements, why);
    if (err || __builtin_mul_overflow(elements, datatype_bytes(t->type), &wanted))
        return serve_memory_say(why, "its shape is of more bytes than 64 bits count");
    if (wanted == t->bytes) return 0;
    return serve_memory_say(why, "%" PRIu64 " bytes, but %" PRIu64 " elements of %s are %" PRIu64,
                            t->bytes, elements, datatype_name(t->type), wanted);
}

int serve_memory_check(const struct serve_memory_tensor *t, struct serve_memory_why *why) {
    if (!is_name(t->name))
        return serve_memory_say(why, "its name is not of 1 to %u bytes without control characters",
                                SERVE_WIRE_MAX_NAME_BYTES);
    if ((uint32_t)t->type >= DATATYPE_COUNT)
        return serve_memory_say(why, "there is no datatype %u", (uint32_t)t->type);
    if (t->rank > SERVE_WIRE_MAX_RANK)
        return serve_memory_say(why, "%u dimensions; %u is the most", t->rank, SERVE_WIRE_MAX_RANK);
    return check_bytes(t, why);
}
