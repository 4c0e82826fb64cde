/* SPDX-License-Identifier: Apache-2.0
 *
 * The well-formed sequences of the Unicode Standard, table 3-7: no surrogates, nothing above
 * U+10FFFF, and none longer than its character needs.
 */
#include "common/utf8.h"

#include <stdbool.h>
#include <stdint.h>

/* Length of a sequence by its first byte; 0: no sequence begins with it. */
static size_t length_of(unsigned char first) {
    if (first < 0x80) return 1;
    if (first >= 0xc2 && first <= 0xdf) return 2;
    if (first >= 0xe0 && first <= 0xef) return 3;
    return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

static bool is_control(uint32_t c) {
    return c < ' ' || (c >= 0x7f && c <= 0x9f) || c == 0x2028 || c == 0x2029;
}

size_t utf8_shown(const char *text, size_t bytes) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *t = (const unsigned char *)text;
    size_t n = bytes ? length_of(t[0]) : 0;
    uint32_t c;
    if (n == 0 || n > bytes) return 0;
    c = n == 1 ? t[0] : t[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((t[i] & 0xc0) != 0x80) return 0;
        c = c << 6 | (t[i] & 0x3f);
    }
    if (c < least[n] || (c >= 0xd800 && c <= 0xdfff) || c > 0x10ffff) return 0;
    return is_control(c) ? 0 : n;
}

void utf8_clean(char *text, size_t bytes) {
    for (size_t i = 0; i < bytes;) {
        size_t n = utf8_shown(text + i, bytes - i);
        if (n == 0) text[i++] = '?';
        i += n;
    }
}
