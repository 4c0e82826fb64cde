/* SPDX-License-Identifier: Apache-2.0
 *
 * UTF-8, and strings in JSON's notation. Pure, for any thread.
 */
#ifndef DAEMON_SERVE_INFER_TEXT_H
#define DAEMON_SERVE_INFER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

/* Length of the character at `s`, of which `bytes` are available; 0 if it is not UTF-8. */
size_t text_character(const char *s, size_t bytes);
bool text_valid(const char *s, size_t bytes);

/* Append a text that needs no escapes, and an integer. They avoid printf, which took a tenth of a
 * request's time. */
void text_add(struct buf *json, const char *s);
void text_decimal(struct buf *json, int64_t n);

/* Writes a string with quotes; each byte that is not UTF-8 becomes a question mark. */
void text_write(struct buf *json, const char *s, size_t bytes);

/* Decodes a JSON string, given without its quotes, and appends it to `out`. Returns 0, -ENOMEM, or
 * -EINVAL for an unknown escape or half a surrogate pair. */
int text_read(struct buf *out, const char *s, size_t bytes);

#endif
