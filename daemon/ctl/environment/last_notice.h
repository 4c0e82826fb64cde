/* SPDX-License-Identifier: Apache-2.0
 *
 * Remembers the latest notice to this user, so that runs do not repeat it: a line in
 * $XDG_STATE_HOME/salus/said, or in ~/.local/state. If the line cannot be stored safely, it is
 * printed each time. One thread.
 */
#ifndef DAEMON_CTL_ENVIRONMENT_LAST_NOTICE_H
#define DAEMON_CTL_ENVIRONMENT_LAST_NOTICE_H

#include <stdbool.h>

/* Returns whether `text` differs from the latest notice, and stores it. */
bool last_notice_is_new(const char *text);

#endif
