/* SPDX-License-Identifier: Apache-2.0
 *
 * UTF-8, and strings as JSON writes them. Pure, for any thread.
 */
#ifndef DAEMON_SERVE_INFER_TEXT_H
#define DAEMON_SERVE_INFER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

/* Bytes of the character at `s`, of which `bytes` are there; 0 where it is not UTF-8. */
size_t text_character(const char *s, size_t bytes);
bool text_valid(const char *s, size_t bytes);

/* What needs no escapes; and a whole number. Without printf, which took a tenth of a request's
 * time. */
void text_add(struct buf *json, const char *s);
void text_decimal(struct buf *json, int64_t n);

/* With its quotes; each byte that is not UTF-8 becomes a question mark. */
void text_write(struct buf *json, const char *s, size_t bytes);

/* A string of JSON between its quotes, without them, appended to `out`. 0, -EINVAL for an escape
 * that there is none of or half a surrogate pair, -ENOMEM. */
int text_read(struct buf *out, const char *s, size_t bytes);

#endif
