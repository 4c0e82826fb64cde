/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses the arguments of a command, from the first to the last.
 */
#include "common/text/args.h"

#include <string.h>

enum args_kind args_next(struct args *a) {
    a->value = NULL;
    a->name = *a->rest;
    if (!a->name) return ARGS_END;
    a->rest++;
    if (a->name[0] != '-' || !a->name[1]) return ARGS_WORD;
    char *equals = a->name[1] == '-' ? strchr(a->name, '=') : NULL;
    if (equals) {
        *equals = '\0';
        a->value = equals + 1;
    }
    return ARGS_OPTION;
}

char *args_value(struct args *a) {
    if (!a->value && *a->rest) a->value = *a->rest++;
    return a->value;
}

bool args_is(const struct args *a, const char *flag) {
    return !a->value && strcmp(a->name, flag) == 0;
}

const char *args_whole(struct args *a) {
    if (a->value && a->rest[-1] == a->name) a->value[-1] = '=';
    return a->name;
}
