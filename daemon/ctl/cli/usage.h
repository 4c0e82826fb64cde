/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses a verb's usage line, which is both its help and its grammar. Pure.
 */
#ifndef DAEMON_CTL_CLI_USAGE_H
#define DAEMON_CTL_CLI_USAGE_H

#include <stdbool.h>

/* The usage line contains the option, as "[--lane NAME]" or "[--dry-run]". Sets *value to whether
 * it takes a value. */
bool usage_option(const char *usage, const char *option, bool *value);

/* Sets the numbers of words that must and may follow the verb; *most is -1: any number. */
void usage_words(const char *usage, int *least, int *most);

#endif
