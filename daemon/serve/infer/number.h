/* SPDX-License-Identifier: Apache-2.0
 *
 * Converts one number or boolean between JSON text and the bytes of a tensor element. Integers are
 * exact up to 64 bits. Reals are rounded to the nearest value of the datatype. A value outside the
 * datatype's range is rejected, never clamped. Pure.
 */
#ifndef DAEMON_SERVE_INFER_NUMBER_H
#define DAEMON_SERVE_INFER_NUMBER_H

#include <stddef.h>

#include "common/buf.h"
#include "proto/serve/datatype.h"

#define NUMBER_MAX_BYTES 512 /* limit of a number's text */

/* Converts `text` to an element of `type` (not BYTES or BF16) at `out`. Returns NULL, or a
 * description of the error. */
const char *number_read(const char *text, size_t bytes, enum datatype type, void *out);

/* Writes the element at `data` as text that reads back to the same value. Returns -EDOM for NaN and
 * infinity, which JSON lacks. */
int number_write(struct buf *json, enum datatype type, const void *data);

#endif
