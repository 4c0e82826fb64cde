/* SPDX-License-Identifier: Apache-2.0
 *
 * The arguments of a command, one after the other: words, and options as "--name", "--name=value",
 * "--name value", "-n value". The caller knows which options exist and which take a value. Options
 * cannot be abbreviated. The caller also handles "--" and "-".
 *
 * Owner: the caller, also of argv, which is written to: "=" becomes the end of a name.
 */
#ifndef COMMON_TEXT_ARGS_H
#define COMMON_TEXT_ARGS_H

#include <stdbool.h>

enum args_kind { ARGS_END, ARGS_WORD, ARGS_OPTION };

struct args {
    char **rest; /* arguments not taken yet; the last is NULL */
    char *name;  /* taken: the word ("-" is one), or the option with its dashes ("--" is one) */
    char *value; /* text after the option's "="; NULL: there is no "=" */
};

enum args_kind args_next(struct args *a);
/* Returns the value of the option just taken, which may be the next argument, or NULL if it has
 * none. */
char *args_value(struct args *a);
/* True if the option just taken is this one, which takes no value, and was given none. */
bool args_is(const struct args *a, const char *flag);
/* Returns the option just taken as it was given, with "=" and value, for error messages. */
const char *args_whole(struct args *a);

#endif
