/* SPDX-License-Identifier: Apache-2.0
 *
 * Users as people know them, where the daemon has numbers.
 */
#ifndef DAEMON_CTL_CLI_USER_NAME_H
#define DAEMON_CTL_CLI_USER_NAME_H

#include <stddef.h>
#include <stdint.h>

/* The name, or the number of a user who has none. */
void user_name_print(uint64_t uid, char *out, size_t cap);

/* The text with "user NAME" for each "user NUMBER" whose name is known; cut where `cap` ends. */
void user_name_put(const char *text, char *out, size_t cap);

#endif
