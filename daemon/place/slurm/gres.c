/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses a list element by element.
 */
#include "daemon/place/slurm/gres.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Position of the number after the name in "a:2(S:0)"; NULL if there is none. */
static const char *number_of(const char *part, size_t bytes) {
    size_t end = 0, begin;

    while (end < bytes && part[end] != '(')
        end++;
    for (begin = end; begin > 0 && isdigit((unsigned char)part[begin - 1]);)
        begin--;
    return begin < end && begin > 0 && strchr(":=", part[begin - 1]) ? part + begin : NULL;
}

static uint32_t count_of(const char *part, size_t bytes, const char *name) {
    size_t n = strlen(name);
    const char *number;

    if (bytes > 5 && (strncmp(part, "gres:", 5) == 0 || strncmp(part, "gres/", 5) == 0)) {
        part += 5;
        bytes -= 5;
    }
    if (bytes < n || memcmp(part, name, n) != 0) return 0;
    if (bytes == n) return 1;
    if (!strchr(":=", part[n])) return 0;
    number = number_of(part, bytes);
    return number ? (uint32_t)strtoul(number, NULL, 10) : 1;
}

uint32_t gres_count(const char *list, const char *name) {
    uint32_t count = 0;

    while (list && *list) {
        size_t n = 0;

        for (bool inside = false; list[n] && (inside || list[n] != ','); n++)
            inside = list[n] == '(' || (inside && list[n] != ')');
        count += count_of(list, n, name);
        list += n + (list[n] == ',');
    }
    return count;
}
