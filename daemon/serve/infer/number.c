/* SPDX-License-Identifier: Apache-2.0
 *
 * RFC 8259, section 6. The C library rounds to nearest; the locale is C.
 */
#include "daemon/serve/infer/number.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/serve/infer/half.h"

#define BEYOND "is beyond its datatype"

/* ---- reading --------------------------------------------------------------------------------- */

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static const char *skip_digits(const char *s) {
    while (is_digit(*s))
        s++;
    return s;
}

/* Position after the integer at s, or NULL. */
static const char *skip_integer(const char *s) {
    s += *s == '-';
    if (*s == '0') return s + 1;
    return is_digit(*s) ? skip_digits(s) : NULL;
}

static bool is_number(const char *s) {
    s = skip_integer(s);
    if (s && *s == '.') s = is_digit(s[1]) ? skip_digits(s + 1) : NULL;
    if (s && (*s == 'e' || *s == 'E')) {
        s += s[1] == '+' || s[1] == '-' ? 2 : 1;
        s = is_digit(*s) ? skip_digits(s) : NULL;
    }
    return s && *s == '\0';
}

static const char *why_none(const char *s) {
    s += *s == '-';
    if (strcmp(s, "NaN") == 0 || strcmp(s, "Infinity") == 0 || strcmp(s, "null") == 0)
        return "is a number that JSON cannot represent: send the tensor as binary data";
    return "is not a number";
}

static const char *read_integer(const char *s, enum datatype type, void *out) {
    const char *behind = skip_integer(s);
    bool negative = *s == '-', is_signed = type >= DATATYPE_INT8 && type <= DATATYPE_INT64;
    size_t bytes = datatype_bytes(type);
    uint64_t most = UINT64_MAX >> (64 - 8 * bytes), n;

    if (!behind) return why_none(s);
    if (*behind) return is_number(s) ? "is not an integer" : why_none(s);
    errno = 0;
    n = strtoull(s + negative, NULL, 10);
    if (errno == ERANGE) return BEYOND;
    if (is_signed) most = (most >> 1) + negative;
    if (!is_signed && negative) most = 0;
    if (n > most) return BEYOND;
    if (negative) n = 0 - n;
    memcpy(out, &n, bytes); /* little-endian, like the host */
    return NULL;
}

static const char *read_real(const char *s, enum datatype type, void *out) {
    double d;
    float f;
    uint16_t h;

    if (!is_number(s)) return why_none(s);
    if (type == DATATYPE_FP32) {
        f = strtof(s, NULL);
        memcpy(out, &f, sizeof(f));
        return isfinite(f) ? NULL : BEYOND;
    }
    d = strtod(s, NULL);
    if (type == DATATYPE_FP64) {
        memcpy(out, &d, sizeof(d));
        return isfinite(d) ? NULL : BEYOND;
    }
    h = half_pack(d);
    memcpy(out, &h, sizeof(h));
    return isfinite(half_unpack(h)) ? NULL : BEYOND;
}

static const char *read_bool(const char *s, void *out) {
    unsigned char yes = strcmp(s, "true") == 0;

    if (!yes && strcmp(s, "false") != 0) return "is neither true nor false";
    memcpy(out, &yes, 1);
    return NULL;
}

const char *number_read(const char *text, size_t bytes, enum datatype type, void *out) {
    char s[NUMBER_MAX_BYTES + 1];

    if (bytes > NUMBER_MAX_BYTES) return "is too long for a number";
    memcpy(s, text, bytes);
    s[bytes] = '\0';
    if (type == DATATYPE_BOOL) return read_bool(s, out);
    return type <= DATATYPE_INT64 ? read_integer(s, type, out) : read_real(s, type, out);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Without printf, which would block the loop for long in an answer of millions of numbers. */
static int write_digits(struct buf *json, uint64_t n, bool negative) {
    char text[20]; /* enough for -9223372036854775808 and 18446744073709551615 */
    size_t at = sizeof(text);

    do {
        text[--at] = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    if (negative) text[--at] = '-';
    return buf_append(json, text + at, sizeof(text) - at);
}

static int write_integer(struct buf *json, enum datatype type, const void *data) {
    size_t bytes = datatype_bytes(type);
    uint64_t n = 0;

    memcpy(&n, data, bytes);
    if (type < DATATYPE_INT8) return write_digits(json, n, false);
    unsigned unused = (unsigned)(64 - 8 * bytes);
    int64_t of_sign = (int64_t)(n << unused) >> unused;
    n = (uint64_t)of_sign;
    return write_digits(json, of_sign < 0 ? 0 - n : n, of_sign < 0);
}

static double real_of(enum datatype type, const void *data) {
    double d;
    float f;
    uint16_t h;

    switch (type) {
    case DATATYPE_FP64: memcpy(&d, data, sizeof(d)); return d;
    case DATATYPE_FP32: memcpy(&f, data, sizeof(f)); return (double)f;
    default: memcpy(&h, data, sizeof(h)); return half_unpack(h);
    }
}

int number_write(struct buf *json, enum datatype type, const void *data) {
    if (type == DATATYPE_BOOL)
        return *(const unsigned char *)data ? buf_append(json, "true", 4)
                                            : buf_append(json, "false", 5);
    if (type <= DATATYPE_INT64) return write_integer(json, type, data);
    double d = real_of(type, data);
    if (!isfinite(d)) return -EDOM;
    return buf_printf(json, "%.*g", type == DATATYPE_FP64 ? 17 : type == DATATYPE_FP32 ? 9 : 5, d);
}
