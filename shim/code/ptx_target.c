/* SPDX-License-Identifier: Apache-2.0
 *
 * Scans words and comments up to .target, which follows .version.
 */
#include "shim/code/ptx_target.h"

#include <stdbool.h>
#include <string.h>

/* Returns the position behind the comment that begins at `i`, or `i` when none does. */
static size_t skip_comment(const char *text, size_t bytes, size_t i) {
    const char *end;
    if (bytes - i < 2 || text[i] != '/') return i;
    if (text[i + 1] == '/') {
        end = memchr(text + i, '\n', bytes - i);
        return end ? (size_t)(end - text) + 1 : bytes;
    }
    if (text[i + 1] != '*') return i;
    end = memmem(text + i + 2, bytes - i - 2, "*/", 2);
    return end ? (size_t)(end - text) + 2 : bytes;
}

static size_t skip_blanks(const char *text, size_t bytes, size_t i) {
    for (;;) {
        while (i < bytes && (text[i] == ' ' || (text[i] >= '\t' && text[i] <= '\r')))
            i++;
        size_t end = skip_comment(text, bytes, i);
        if (end == i) return i;
        i = end;
    }
}

static size_t skip_word(const char *text, size_t bytes, size_t i) {
    do
        i++;
    while (i < bytes && (unsigned char)text[i] > ' ');
    return skip_blanks(text, bytes, i);
}

static bool stands(const char *word, const char *text, size_t bytes, size_t i) {
    size_t n = strlen(word);
    return bytes - i > n && memcmp(text + i, word, n) == 0;
}

uint32_t ptx_target(const char *text, size_t bytes) {
    size_t i = skip_blanks(text, bytes, 0);
    uint32_t target = 0;
    if (!stands(".version", text, bytes, i)) return 0;
    while (i < bytes && !stands(".target", text, bytes, i))
        i = skip_word(text, bytes, i);
    if (i >= bytes) return 0;
    i = skip_blanks(text, bytes, i + strlen(".target"));
    if (!stands("sm_", text, bytes, i)) return 0;
    for (i += 3; i < bytes && text[i] >= '0' && text[i] <= '9' && target < 10000; i++)
        target = target * 10 + (uint32_t)(text[i] - '0');
    return target;
}
