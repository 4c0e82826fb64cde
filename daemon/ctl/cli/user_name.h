/* SPDX-License-Identifier: Apache-2.0
 *
 * Replaces the daemon's user numbers by names.
 */
#ifndef DAEMON_CTL_CLI_USER_NAME_H
#define DAEMON_CTL_CLI_USER_NAME_H

#include <stddef.h>
#include <stdint.h>

/* Prints the user's name, or the number if there is none. */
void user_name_print(uint64_t uid, char *out, size_t cap);

/* Copies the text with "user NAME" for each "user NUMBER" whose name is known; truncated at `cap`.
 */
void user_name_put(const char *text, char *out, size_t cap);

#endif
