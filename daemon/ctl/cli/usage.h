/* SPDX-License-Identifier: Apache-2.0
 *
 * What a verb's usage line says, as people read it, is what its parser goes by. Pure.
 */
#ifndef DAEMON_CTL_CLI_USAGE_H
#define DAEMON_CTL_CLI_USAGE_H

#include <stdbool.h>

/* Whether the option is in it, "[--lane NAME]" or "[--dry-run]"; *value: whether it takes one. */
bool usage_option(const char *usage, const char *option, bool *value);

/* How many words must and may follow the verb; *most is -1 where there is no end. */
void usage_words(const char *usage, int *least, int *most);

#endif
