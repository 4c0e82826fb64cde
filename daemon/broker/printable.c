/* SPDX-License-Identifier: Apache-2.0
 *
 * Replaces every character that is not printable ASCII by a question mark.
 */
#include "daemon/broker/printable.h"

#include <string.h>

void printable_copy(char *out, const char *text, size_t cap) {
    size_t n = strnlen(text, cap);

    for (size_t i = 0; i < n; i++)
        out[i] = text[i] < ' ' || text[i] > '~' ? '?' : text[i];
    out[n] = '\0';
}

void printable_quote(char *text, size_t cap) {
    text[cap - 1] = '\0';
    for (; *text; text++)
        if (*text < ' ' || *text > '~' || *text == '"') *text = '?';
}
