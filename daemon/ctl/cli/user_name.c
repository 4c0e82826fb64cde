/* SPDX-License-Identifier: Apache-2.0
 *
 * Names come from this process's user database, which may differ from the daemon's.
 */
#include "daemon/ctl/cli/user_name.h"

#include <ctype.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD "user "

void user_name_print(uint64_t uid, char *out, size_t cap) {
    const struct passwd *p = uid < UINT32_MAX ? getpwuid((uid_t)uid) : NULL;

    if (p)
        snprintf(out, cap, "%s", p->pw_name);
    else
        snprintf(out, cap, "%" PRIu64, uid);
}

/* A user's number begins at `at` of the text; sets *end behind it. */
static bool is_number(const char *text, const char *at, const char **end) {
    size_t word = strlen(WORD), digits = strspn(at, "0123456789");

    *end = at + digits;
    if (digits == 0 || digits > 10 || isalnum((unsigned char)**end) || **end == '_') return false;
    if ((size_t)(at - text) < word || memcmp(at - word, WORD, word) != 0) return false;
    return at - text == (ptrdiff_t)word || !isalnum((unsigned char)at[-1 - (ptrdiff_t)word]);
}

void user_name_put(const char *text, char *out, size_t cap) {
    size_t n = 0;

    for (const char *p = text, *end; *p && n + 1 < cap;) {
        if (!is_number(text, p, &end)) {
            out[n++] = *p++;
            continue;
        }
        user_name_print(strtoull(p, NULL, 10), out + n, cap - n);
        n += strlen(out + n);
        p = end;
    }
    out[n] = '\0';
}
