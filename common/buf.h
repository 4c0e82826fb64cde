/* SPDX-License-Identifier: Apache-2.0
 *
 * A growable byte buffer. The caller owns the struct, the buffer its memory. A failed growth is
 * sticky: later appends do nothing and `failed` stays set, so that a writer of many pieces checks
 * once at the end. Not thread-safe.
 */
#ifndef COMMON_BUF_H
#define COMMON_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct buf {
    unsigned char *data;
    size_t len, cap;
    bool failed;
};

void buf_init(struct buf *b);
void buf_finish(struct buf *b);

/* Makes space for `bytes` more. Returns 0 or -ENOMEM (sticky until buf_clear). */
int buf_reserve(struct buf *b, size_t bytes);
int buf_append(struct buf *b, const void *bytes, size_t count);
int buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Appends `count` zeroed bytes for the caller to fill; valid until the next append. Returns NULL on
 * failure. */
void *buf_extend(struct buf *b, size_t count);

/* Returns the contents as a string, with a NUL that `len` does not count. Returns "" on failure. */
const char *buf_str(struct buf *b);

/* Empties the buffer and clears a failure. Keeps the memory. */
void buf_clear(struct buf *b);

#endif
