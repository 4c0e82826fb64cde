/* SPDX-License-Identifier: Apache-2.0
 *
 * The sizes of a tensor: all known, or none. A value. Pure.
 */
#ifndef DAEMON_PREDICT_ONNX_SHAPE_H
#define DAEMON_PREDICT_ONNX_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHAPE_RANK_MAX 8u
#define SHAPE_ELEMENTS_MAX ((int64_t)1 << 44) /* more is no tensor of any device */
#define SHAPE_TEXT_BYTES 160

struct shape {
    bool known;
    uint32_t rank;
    int64_t dim[SHAPE_RANK_MAX];
};

/* Whether it can be a tensor's: no size below 0, and not absurdly many elements. */
bool shape_sound(const struct shape *s);

/* Of a sound shape, and of its axes from `from` up to `to`. */
int64_t shape_elements(const struct shape *s);
int64_t shape_part(const struct shape *s, uint32_t from, uint32_t to);

/* "1x64x56x56", "a scalar". */
void shape_print(const struct shape *s, char out[SHAPE_TEXT_BYTES]);

#endif
