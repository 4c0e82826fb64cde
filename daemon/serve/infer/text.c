/* SPDX-License-Identifier: Apache-2.0
 *
 * Implements RFC 3629 and RFC 8259, section 7.
 */
#include "daemon/serve/infer/text.h"

#include <errno.h>
#include <string.h>

/* ---- UTF-8 ----------------------------------------------------------------------------------- */

static bool follows(unsigned char c) {
    return (c & 0xc0) == 0x80;
}

size_t text_character(const char *s, size_t bytes) {
    const unsigned char *p = (const unsigned char *)s;
    size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;

    if (n == 0 || p[0] > 0xf4 || n > bytes) return 0;
    for (size_t i = 1; i < n; i++)
        if (!follows(p[i])) return 0;
    if (p[0] == 0xe0 && p[1] < 0xa0) return 0;                          /* overlong encoding */
    if (p[0] == 0xed && p[1] > 0x9f) return 0;                          /* half a surrogate pair */
    if ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f)) /* beyond U+10FFFF */
        return 0;
    return n;
}

bool text_valid(const char *s, size_t bytes) {
    for (size_t i = 0, n; i < bytes; i += n) {
        n = (unsigned char)s[i] < 0x80 ? 1 : text_character(s + i, bytes - i);
        if (n == 0) return false;
    }
    return true;
}

/* ---- writing --------------------------------------------------------------------------------- */

void text_add(struct buf *json, const char *s) {
    buf_append(json, s, strlen(s));
}

void text_decimal(struct buf *json, int64_t n) {
    char digits[24];
    size_t at = sizeof(digits);
    uint64_t left = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;

    do
        digits[--at] = (char)('0' + left % 10);
    while (left /= 10);
    if (n < 0) digits[--at] = '-';
    buf_append(json, digits + at, sizeof(digits) - at);
}

static void write_escaped(struct buf *json, unsigned char c) {
    switch (c) {
    case '"': buf_append(json, "\\\"", 2); break;
    case '\\': buf_append(json, "\\\\", 2); break;
    case '\n': buf_append(json, "\\n", 2); break;
    case '\r': buf_append(json, "\\r", 2); break;
    case '\t': buf_append(json, "\\t", 2); break;
    default: buf_printf(json, "\\u%04x", c);
    }
}

static bool plain(unsigned char c) {
    return c >= ' ' && c != '"' && c != '\\' && c < 0x7f;
}

void text_write(struct buf *json, const char *s, size_t bytes) {
    size_t i = 0;

    buf_append(json, "\"", 1);
    while (i < bytes) {
        size_t run = 0, n;
        while (i + run < bytes && plain((unsigned char)s[i + run]))
            run++;
        buf_append(json, s + i, run);
        i += run;
        if (i == bytes) break;
        n = text_character(s + i, bytes - i);
        if (n == 0)
            buf_append(json, "?", 1);
        else if (n == 1)
            write_escaped(json, (unsigned char)s[i]);
        else
            buf_append(json, s + i, n);
        i += n ? n : 1;
    }
    buf_append(json, "\"", 1);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Parses four hexadecimal digits; -1 if they are invalid. */
static int32_t hex4(const char *s, const char *end) {
    int32_t v = 0;

    if (end - s < 4) return -1;
    for (int i = 0; i < 4; i++) {
        char c = s[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) return -1;
        v = v << 4 | digit;
    }
    return v;
}

static void append_character(struct buf *out, uint32_t c) {
    char s[4];
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

    if (n == 1) {
        s[0] = (char)c;
    } else {
        s[0] = (char)(0xf00 >> n | c >> 6 * (n - 1));
        for (size_t i = 1; i < n; i++)
            s[i] = (char)(0x80 | (c >> 6 * (n - 1 - i) & 0x3f));
    }
    buf_append(out, s, n);
}

/* Parses the text after "\u"; returns the number of bytes used, or 0 if it is invalid. */
static size_t read_unicode(struct buf *out, const char *s, const char *end) {
    int32_t c = hex4(s, end), low;

    if (c < 0 || (c >= 0xdc00 && c < 0xe000)) return 0;
    if (c < 0xd800 || c >= 0xe000) {
        append_character(out, (uint32_t)c);
        return 4;
    }
    if (end - s < 10 || s[4] != '\\' || s[5] != 'u') return 0;
    low = hex4(s + 6, end);
    if (low < 0xdc00 || low >= 0xe000) return 0;
    append_character(out, 0x10000 + ((uint32_t)(c - 0xd800) << 10) + (uint32_t)(low - 0xdc00));
    return 10;
}

int text_read(struct buf *out, const char *s, size_t bytes) {
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *end = s + bytes;

    while (s < end) {
        const char *back = memchr(s, '\\', (size_t)(end - s)), *at;
        buf_append(out, s, (size_t)((back ? back : end) - s));
        if (!back) break;
        s = back + 1;
        if (s == end) return -EINVAL;
        if (*s == 'u') {
            size_t n = read_unicode(out, s + 1, end);
            if (n == 0) return -EINVAL;
            s += 1 + n;
            continue;
        }
        at = *s ? strchr(names, *s) : NULL;
        if (!at) return -EINVAL;
        buf_append(out, &values[at - names], 1);
        s++;
    }
    return out->failed ? -ENOMEM : 0;
}
