/* SPDX-License-Identifier: Apache-2.0
 *
 * One number or truth value between the text of JSON and the bytes of a tensor's element. Integers
 * are exact up to 64 bits; what is beyond a datatype is refused, never rounded into it. Pure.
 */
#ifndef DAEMON_SERVE_INFER_NUMBER_H
#define DAEMON_SERVE_INFER_NUMBER_H

#include <stddef.h>

#include "common/buf.h"
#include "proto/serve/datatype.h"

#define NUMBER_MAX_BYTES 512 /* of one in text */

/* `text` becomes an element of `type` (none of BYTES and BF16), at `out`. NULL, or what is wrong
 * with it. */
const char *number_read(const char *text, size_t bytes, enum datatype type, void *out);

/* The element at `data` as text that reads back to the same; -EDOM where JSON has none: a NaN, an
 * infinity. */
int number_write(struct buf *json, enum datatype type, const void *data);

#endif
