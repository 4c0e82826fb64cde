/* SPDX-License-Identifier: Apache-2.0
 *
 * The sizes of a tensor: either all are known, or none. A value. Pure.
 */
#ifndef DAEMON_PREDICT_ONNX_SHAPE_H
#define DAEMON_PREDICT_ONNX_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHAPE_RANK_MAX 8u
#define SHAPE_ELEMENTS_MAX ((int64_t)1 << 44) /* no device can hold a larger tensor */
#define SHAPE_TEXT_BYTES 160

struct shape {
    bool known;
    uint32_t rank;
    int64_t dim[SHAPE_RANK_MAX];
};

/* Tests for a possible tensor: no negative size and not too many elements. */
bool shape_sound(const struct shape *s);

/* Elements of a sound shape, or of its axes `from` to `to` - 1. */
int64_t shape_elements(const struct shape *s);
int64_t shape_part(const struct shape *s, uint32_t from, uint32_t to);

/* Prints "1x64x56x56" or "a scalar". */
void shape_print(const struct shape *s, char out[SHAPE_TEXT_BYTES]);

#endif
