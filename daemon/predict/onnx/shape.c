/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/predict/onnx/shape.h"

#include <inttypes.h>
#include <stdio.h>

bool shape_sound(const struct shape *s) {
    int64_t elements = 1;

    if (s->rank > SHAPE_RANK_MAX) return false;
    for (uint32_t i = 0; i < s->rank; i++) {
        /* For an empty tensor, the other sizes must be sound as well. */
        int64_t size = s->dim[i] ? s->dim[i] : 1;

        if (size < 0 || size > SHAPE_ELEMENTS_MAX / elements) return false;
        elements *= size;
    }
    return true;
}

int64_t shape_part(const struct shape *s, uint32_t from, uint32_t to) {
    int64_t elements = 1;

    for (uint32_t i = from; i < to && i < s->rank; i++)
        elements *= s->dim[i];
    return elements;
}

int64_t shape_elements(const struct shape *s) {
    return shape_part(s, 0, s->rank);
}

void shape_print(const struct shape *s, char out[SHAPE_TEXT_BYTES]) {
    size_t at = 0;

    snprintf(out, SHAPE_TEXT_BYTES, "a scalar");
    for (uint32_t i = 0; i < s->rank && at < SHAPE_TEXT_BYTES; i++)
        at += (size_t)snprintf(out + at, SHAPE_TEXT_BYTES - at, "%s%" PRId64, i ? "x" : "",
                               s->dim[i]);
}
