/* SPDX-License-Identifier: Apache-2.0
 *
 * The arguments of a command, one after the other: words, and options as "--name", "--name=value",
 * "--name value", "-n value". Which options there are and which of them take a value is the
 * caller's to know; none is abbreviated, and "--" and "-" are left to the caller as well.
 *
 * Owner: the caller, of argv too, which is written to: "=" becomes the end of a name.
 */
#ifndef COMMON_TEXT_ARGS_H
#define COMMON_TEXT_ARGS_H

#include <stdbool.h>

enum args_kind { ARGS_END, ARGS_WORD, ARGS_OPTION };

struct args {
    char **rest; /* what was not taken yet; its last is NULL */
    char *name;  /* taken: the word ("-" is one), or the option with its dashes ("--" is one) */
    char *value; /* what stood behind the option's "="; NULL: nothing did */
};

enum args_kind args_next(struct args *a);
/* The value of the option just taken, which may be the next argument; NULL: it has none. */
char *args_value(struct args *a);
/* Whether the option just taken is this one, which takes no value and was given none. */
bool args_is(const struct args *a, const char *flag);
/* The option just taken as it was given, "=" and all, for who refuses it. */
const char *args_whole(struct args *a);

#endif
