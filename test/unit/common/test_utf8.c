/* SPDX-License-Identifier: Apache-2.0
 *
 * Every character by its own encoding, and bytes that encode none.
 */
#include "common/utf8.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

/* Encodes a character by the table of the standard; returns its bytes. */
static size_t encode(uint32_t c, char *out) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)((0xf00u >> n & 0xff) | c);
    return n;
}

Test(utf8, each_character_is_shown_or_not) {
    for (uint32_t c = 0; c < 0x110000; c++) {
        char text[5] = "";
        size_t n = encode(c, text);
        int hidden = c < 32 || (c >= 127 && c < 160) || c == 0x2028 || c == 0x2029 ||
                     (c >= 0xd800 && c < 0xe000);
        cr_assert_eq(utf8_shown(text, n), hidden ? 0 : n, "U+%04X", c);
        cr_assert_eq(utf8_shown(text, n - 1), 0, "U+%04X, cut", c);
    }
}

static void cleans(const char *from, const char *to) {
    char text[32];

    strcpy(text, from);
    utf8_clean(text, strlen(text));
    cr_expect_str_eq(text, to);
}

Test(utf8, what_is_none_is_replaced_byte_by_byte) {
    cleans("", "");
    cleans("plain \xe2\x82\xac", "plain \xe2\x82\xac");
    cleans("\xc0\xaf", "??");           /* overlong encoding */
    cleans("\xe0\x80\xaf", "???");      /* overlong encoding, too */
    cleans("\xed\xa0\x80", "???");      /* a surrogate */
    cleans("\xf4\x90\x80\x80", "????"); /* above U+10FFFF */
    cleans("\xe2\x82", "??");           /* incomplete */
    cleans("\xe2\x82z", "??z");
    cleans("\xffok\x80", "?ok?");
    cleans("a\nb\x7f\xc2\x85", "a?b???");
}
