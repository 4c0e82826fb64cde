/* SPDX-License-Identifier: Apache-2.0
 *
 * The size doubles on growth, so that appending is linear in total.
 */
#include "common/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUF_FIRST_BYTES 256u

void buf_init(struct buf *b) {
    *b = (struct buf){0};
}

void buf_finish(struct buf *b) {
    free(b->data);
    buf_init(b);
}

static int fail(struct buf *b) {
    b->failed = true;
    return -ENOMEM;
}

int buf_reserve(struct buf *b, size_t bytes) {
    if (b->failed) return -ENOMEM;
    if (bytes <= b->cap - b->len) return 0;
    if (bytes > SIZE_MAX / 2 - b->len) return fail(b);
    size_t cap = b->cap ? b->cap : BUF_FIRST_BYTES;
    while (cap - b->len < bytes)
        cap *= 2;
    unsigned char *data = realloc(b->data, cap);
    if (!data) return fail(b);
    b->data = data;
    b->cap = cap;
    return 0;
}

int buf_append(struct buf *b, const void *bytes, size_t count) {
    int err = buf_reserve(b, count);
    if (err) return err;
    if (count) memcpy(b->data + b->len, bytes, count);
    b->len += count;
    return 0;
}

void *buf_extend(struct buf *b, size_t count) {
    if (buf_reserve(b, count ? count : 1)) return NULL;
    void *p = b->data + b->len;
    memset(p, 0, count);
    b->len += count;
    return p;
}

int buf_printf(struct buf *b, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    int need = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (need < 0) return fail(b);
    int err = buf_reserve(b, (size_t)need + 1);
    if (err) return err;
    va_start(args, fmt);
    vsnprintf((char *)b->data + b->len, (size_t)need + 1, fmt, args);
    va_end(args);
    b->len += (size_t)need;
    return 0;
}

const char *buf_str(struct buf *b) {
    if (buf_reserve(b, 1)) return "";
    b->data[b->len] = '\0';
    return (const char *)b->data;
}

void buf_clear(struct buf *b) {
    b->len = 0;
    b->failed = false;
}
