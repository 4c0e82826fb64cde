/* SPDX-License-Identifier: Apache-2.0
 *
 * UTF-8 and JSON strings: all valid text reads and writes back, invalid text is rejected.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "daemon/serve/infer/text.h"

Test(infer_text, knows_utf8) {
    static const char *const good[] = {"",
                                       "plain",
                                       "\xc2\x80",
                                       "\xdf\xbf",
                                       "\xe0\xa0\x80",
                                       "\xed\x9f\xbf",
                                       "\xee\x80\x80",
                                       "\xf0\x90\x80\x80",
                                       "\xf4\x8f\xbf\xbf",
                                       "a\xe2\x82\xac z"};
    static const char *const bad[] = {"\x80",         "\xc1\xbf",         "\xc2",
                                      "\xe0\x9f\xbf", "\xed\xa0\x80",     "\xf0\x8f\xbf\xbf",
                                      "\xe2\x82",     "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
                                      "\xff",         "\xc2\xc2"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        cr_expect(text_valid(good[i], strlen(good[i])), "good %zu", i);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        cr_expect_not(text_valid(bad[i], strlen(bad[i])), "bad %zu", i);
}

static void expect_written(const char *s, size_t bytes, const char *json) {
    struct buf b;
    buf_init(&b);
    text_write(&b, s, bytes);
    cr_expect_str_eq(buf_str(&b), json);
    buf_finish(&b);
}

Test(infer_text, writes_strings) {
    expect_written("", 0, "\"\"");
    expect_written("a\"b\\c\n\r\t\x01\x7f", 10, "\"a\\\"b\\\\c\\n\\r\\t\\u0001\\u007f\"");
    expect_written("\xe2\x82\xac\0z", 5, "\"\xe2\x82\xac\\u0000z\"");
    expect_written("a\xff\xe2\x82", 4, "\"a???\"");
}

static void expect_read(const char *json, const char *s, size_t bytes) {
    struct buf b;
    buf_init(&b);
    cr_expect_eq(text_read(&b, json, strlen(json)), 0, "%s", json);
    cr_expect_eq(b.len, bytes, "%s: %zu", json, b.len);
    cr_expect(b.len == bytes && (!bytes || memcmp(b.data, s, bytes) == 0), "%s", json);
    buf_finish(&b);
}

Test(infer_text, reads_strings) {
    expect_read("", "", 0);
    expect_read("a\\\"\\\\\\/\\b\\f\\n\\r\\t", "a\"\\/\b\f\n\r\t", 9);
    expect_read("\\u0041\\u00e9\\u20AC\\ud83d\\ude00\\u0000",
                "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 11);
}

Test(infer_text, refuses_wrong_escapes) {
    static const char *const bad[] = {"\\",       "\\x",      "\\u12",          "\\u12g4",
                                      "\\ud800",  "\\udc00",  "\\ud800\\u0041", "\\ud800\\n",
                                      "\\u 123 ", "\\ud83d\\"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct buf b;
        buf_init(&b);
        cr_expect_eq(text_read(&b, bad[i], strlen(bad[i])), -EINVAL, "%s", bad[i]);
        buf_finish(&b);
    }
}
