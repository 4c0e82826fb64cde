/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensor data between JSON and bytes: every datatype up to its bounds, golden bytes, and each
 * complaint.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/serve/infer/half.h"
#include "daemon/serve/infer/number.h"
#include "daemon/serve/infer/values.h"

static struct tensor of(enum datatype type, uint64_t elements) {
    return (struct tensor){
        .name = "x", .type = type, .rank = 1, .shape = {(int64_t)elements}, .elements = elements};
}

/* Expects that `json` is read as these bytes, and that they are written as `back`. */
static void expect_bytes(enum datatype type, uint64_t elements, const char *json, const void *bytes,
                         size_t size, const char *back) {
    struct tensor t = of(type, elements);
    struct refusal why = {0};
    struct buf b, text;

    buf_init(&b);
    buf_init(&text);
    cr_expect_eq(values_read(&t, json, strlen(json), &b, &why), 0, "%s: %s", json, why.text);
    cr_expect_eq(b.len, size, "%s: %zu bytes", json, b.len);
    cr_expect(b.len == size && memcmp(b.data, bytes, size) == 0, "%s: other bytes", json);
    t.data = b.data;
    t.bytes = b.len;
    cr_expect_eq(tensor_check(&t, "input", 400, &why), 0, "%s: %s", json, why.text);
    cr_expect_eq(values_write(&text, &t, &why), 0, "%s: %s", json, why.text);
    cr_expect_str_eq(buf_str(&text), back);
    buf_finish(&b);
    buf_finish(&text);
}

Test(infer_values, integers_are_exact_to_their_bounds) {
    expect_bytes(DATATYPE_UINT8, 2, "[0,255]", "\0\xff", 2, "[0,255]");
    expect_bytes(DATATYPE_INT8, 3, "[ -128 ,127,-0 ]", "\x80\x7f", 3, "[-128,127,0]");
    expect_bytes(DATATYPE_UINT16, 2, "[1,65535]", "\1\0\xff\xff", 4, "[1,65535]");
    expect_bytes(DATATYPE_INT16, 2, "[-32768,32767]", "\0\x80\xff\x7f", 4, "[-32768,32767]");
    expect_bytes(DATATYPE_UINT32, 1, "[4294967295]", "\xff\xff\xff\xff", 4, "[4294967295]");
    expect_bytes(DATATYPE_INT32, 2, "[-2147483648,2147483647]", "\0\0\0\x80\xff\xff\xff\x7f", 8,
                 "[-2147483648,2147483647]");
    /* 2^53 + 1 is not representable as a double. */
    expect_bytes(DATATYPE_INT64, 1, "[9007199254740993]", "\1\0\0\0\0\0\x20\0", 8,
                 "[9007199254740993]");
    expect_bytes(DATATYPE_INT64, 2, "[-9223372036854775808,9223372036854775807]",
                 "\0\0\0\0\0\0\0\x80\xff\xff\xff\xff\xff\xff\xff\x7f", 16,
                 "[-9223372036854775808,9223372036854775807]");
    expect_bytes(DATATYPE_UINT64, 1, "[18446744073709551615]", "\xff\xff\xff\xff\xff\xff\xff\xff",
                 8, "[18446744073709551615]");
}

Test(infer_values, reals_are_the_nearest) {
    expect_bytes(DATATYPE_FP32, 4, "[1.5,-0.0,1e2,0.1]",
                 "\0\0\xc0\x3f\0\0\0\x80\0\0\xc8\x42\xcd\xcc\xcc\x3d", 16,
                 "[1.5,-0,100,0.100000001]");
    /* The result is the nearest float, where rounding to a double first would give another one. */
    expect_bytes(DATATYPE_FP32, 1, "[1.00000005960464477540]", "\1\0\x80\x3f", 4, "[1.00000012]");
    expect_bytes(DATATYPE_FP64, 2, "[0.1,-2.5E-3]",
                 "\x9a\x99\x99\x99\x99\x99\xb9\x3f\x7b\x14\xae\x47\xe1\x7a\x64\xbf", 16,
                 "[0.10000000000000001,-0.0025000000000000001]");
    expect_bytes(DATATYPE_FP16, 5, "[1,-2.5,65504,0.00000006,0.333251953125]",
                 "\0\x3c\0\xc1\xff\x7b\1\0\x55\x35", 10, "[1,-2.5,65504,5.9605e-08,0.33325]");
}

Test(infer_values, truth_and_text) {
    expect_bytes(DATATYPE_BOOL, 3, "[true,false,true]", "\1\0\1", 3, "[true,false,true]");
    expect_bytes(DATATYPE_BYTES, 3, "[\"\",\"a\\n\",\"\\u20ac\"]",
                 "\0\0\0\0\2\0\0\0a\n\3\0\0\0\xe2\x82\xac", 17, "[\"\",\"a\\n\",\"\xe2\x82\xac\"]");
    expect_bytes(DATATYPE_BYTES, 1, "[\"a\\\\\"]", "\2\0\0\0a\\", 6, "[\"a\\\\\"]");
}

Test(infer_values, nested_arrays_are_flat) {
    expect_bytes(DATATYPE_UINT8, 4, "[[1,2],[3,[4]]]", "\1\2\3\4", 4, "[1,2,3,4]");
    expect_bytes(DATATYPE_UINT8, 0, "[]", "", 0, "[]");
    expect_bytes(DATATYPE_UINT8, 0, "[[],[]]", "", 0, "[]");
}

static void expect_refused(enum datatype type, uint64_t elements, const char *json,
                           const char *part) {
    struct tensor t = of(type, elements);
    struct refusal why = {0};
    struct buf b;

    buf_init(&b);
    cr_expect_eq(values_read(&t, json, strlen(json), &b, &why), -EINVAL, "%s", json);
    cr_expect_eq(why.status, 400);
    cr_expect(strstr(why.text, part), "%s: %s", json, why.text);
    cr_expect(strstr(why.text, "\"x\""), "%s: %s", json, why.text);
    buf_finish(&b);
}

Test(infer_values, refuses_what_is_beyond_a_datatype) {
    static const struct {
        enum datatype type;
        const char *json;
    } beyond[] = {
        {DATATYPE_UINT8, "[256]"},
        {DATATYPE_UINT8, "[-1]"},
        {DATATYPE_INT8, "[128]"},
        {DATATYPE_INT8, "[-129]"},
        {DATATYPE_UINT16, "[65536]"},
        {DATATYPE_INT16, "[32768]"},
        {DATATYPE_UINT32, "[4294967296]"},
        {DATATYPE_INT32, "[-2147483649]"},
        {DATATYPE_INT64, "[9223372036854775808]"},
        {DATATYPE_INT64, "[-9223372036854775809]"},
        {DATATYPE_UINT64, "[18446744073709551616]"},
        {DATATYPE_UINT64, "[99999999999999999999999]"},
        {DATATYPE_FP16, "[65520]"},
        {DATATYPE_FP32, "[3.5e38]"},
        {DATATYPE_FP64, "[1e309]"},
    };
    for (size_t i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++)
        expect_refused(beyond[i].type, 1, beyond[i].json, "beyond its datatype");
}

Test(infer_values, refuses_what_is_no_number) {
    static const char *const bad[] = {"[+1]", "[.5]", "[1.]", "[1e]", "[01]",  "[0x1]",
                                      "[-]",  "[1-]", "[]]",  "[a]",  "[1 2]", "[{}]",
                                      "[,]",  "[1,]", "[",    "[1",   "1",     "[\"1\"]"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        expect_refused(DATATYPE_FP32, 1, bad[i], "");
    expect_refused(DATATYPE_INT32, 1, "[1.0]", "is not an integer");
    expect_refused(DATATYPE_INT32, 1, "[1e3]", "is not an integer");
    expect_refused(DATATYPE_BOOL, 1, "[1]", "neither true nor false");
    expect_refused(DATATYPE_BYTES, 1, "[1]", "is not a string");
    expect_refused(DATATYPE_BYTES, 1, "[\"\\x\"]", "wrong escape");
}

Test(infer_values, says_that_json_has_no_nan) {
    static const char *const none[] = {"[NaN]", "[Infinity]", "[-Infinity]", "[null]"};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        expect_refused(DATATYPE_FP32, 1, none[i], "binary data");
    expect_refused(DATATYPE_BF16, 1, "[1]", "send binary data");
}

Test(infer_values, shape_and_data_agree) {
    expect_refused(DATATYPE_UINT8, 2, "[1]", "1 elements of data, but its shape has 2");
    expect_refused(DATATYPE_UINT8, 2, "[1,2,3]", "more data than the 2");
    expect_refused(DATATYPE_UINT8, TENSOR_MAX_ELEMENTS, "[1]", "its shape has 4294967296");
    expect_refused(DATATYPE_UINT8, 1, "[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]", "too deep");
}

static void expect_unwritten(enum datatype type, const void *data, size_t bytes, const char *part) {
    struct tensor t = of(type, 1);
    struct refusal why = {0};
    struct buf b;

    t.data = data;
    t.bytes = bytes;
    buf_init(&b);
    cr_expect_eq(values_write(&b, &t, &why), -EINVAL);
    cr_expect(strstr(why.text, part), "%s", why.text);
    buf_finish(&b);
}

Test(infer_values, what_json_cannot_say_is_not_written) {
    expect_unwritten(DATATYPE_FP32, "\0\0\xc0\x7f", 4, "not finite");
    expect_unwritten(DATATYPE_FP64, "\0\0\0\0\0\0\xf0\xff", 8, "not finite");
    expect_unwritten(DATATYPE_FP16, "\0\x7c", 2, "not finite");
    expect_unwritten(DATATYPE_BF16, "\0\0", 2, "request binary data");
    expect_unwritten(DATATYPE_BYTES, "\1\0\0\0\xff", 5, "not UTF-8");
}

Test(infer_values, every_half_is_itself) {
    for (uint32_t h = 0; h < 0x10000; h++) {
        double v = half_unpack((uint16_t)h);
        if (isnan(v))
            cr_assert(isnan(half_unpack(half_pack(v))));
        else
            cr_assert_eq(half_pack(v), h, "%x", h);
    }
}

Test(infer_values, halves_round_to_even) {
    cr_expect_eq(half_pack(1 + 0x1p-11), 0x3c00);
    cr_expect_eq(half_pack(1 + 0x3p-11), 0x3c02);
    cr_expect_eq(half_pack(1 + 0x1p-11 + 0x1p-30), 0x3c01);
    cr_expect_eq(half_pack(0x1p-25), 0);
    cr_expect_eq(half_pack(0x1.8p-25), 1);
    cr_expect_eq(half_pack(2047.9999), 0x6800, "the exponent goes up");
    cr_expect_eq(half_pack(65519.9), 0x7bff);
    cr_expect_eq(half_pack(-65520), 0xfc00);
}

/* Integers of every width are written as by printf, including the lowest and the highest. */
Test(infer_values, integers_are_written_as_printf_does) {
    for (enum datatype type = DATATYPE_UINT8; type <= DATATYPE_INT64; type++) {
        unsigned bits = 8 * (unsigned)datatype_bytes(type), unused = 64 - bits;
        for (unsigned bit = 0; bit < bits; bit++)
            for (int more = -1; more <= 1; more++)
                for (int sign = -1; sign <= 1; sign += 2) {
                    uint64_t n = (1ull << bit) + (uint64_t)(int64_t)more;
                    char want[32];
                    struct buf json;
                    if (sign < 0) n = 0 - n;
                    n = n << unused >> unused;
                    if (type < DATATYPE_INT8)
                        snprintf(want, sizeof(want), "%llu", (unsigned long long)n);
                    else
                        snprintf(want, sizeof(want), "%lld",
                                 (long long)((int64_t)(n << unused) >> unused));
                    buf_init(&json);
                    cr_assert_eq(number_write(&json, type, &n), 0);
                    cr_expect_str_eq(buf_str(&json), want);
                    buf_finish(&json);
                }
    }
}
