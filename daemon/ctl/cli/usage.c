/* SPDX-License-Identifier: Apache-2.0
 *
 * Options are in brackets, or beside a word as "NAME|--all". Whatever is in brackets is optional;
 * "..." means any number.
 */
#include "daemon/ctl/cli/usage.h"

#include <string.h>

bool usage_option(const char *usage, const char *option, bool *value) {
    size_t n = strlen(option);

    if (n < 2 || strcmp(option, "--") == 0) return false;
    for (const char *p = strstr(usage, option); p; p = strstr(p + 1, option)) {
        bool begins = p == usage || strchr("[| ", p[-1]), ends = strchr("]| ", p[n]);

        if (!begins || !ends) continue;
        *value = p[n] == ' ' && p[n + 1] != '[';
        return true;
    }
    return false;
}

/* Takes one part, up to the next blank outside brackets; returns the rest. */
static const char *take_part(const char *p, int *least, int *most) {
    bool optional = *p == '[', many;
    const char *end = p + (optional ? strcspn(p, "]") : strcspn(p, " "));

    end += strcspn(end, " ");
    many = end - p > 3 && memcmp(end - 3, "...", 3) == 0;
    if (optional && p[1] == '-') return end; /* an option */
    if (!optional && !memmem(p, (size_t)(end - p), "|--", 3)) ++*least;
    if (*most >= 0) *most = many ? -1 : *most + 1;
    return end;
}

void usage_words(const char *usage, int *least, int *most) {
    *least = *most = 0;
    for (const char *p = usage; *p; p += strspn(p, " "))
        p = take_part(p, least, most);
}
