/* SPDX-License-Identifier: Apache-2.0
 *
 * What this user was told by an earlier run, so that nobody hears the same at each: a line in
 * $XDG_STATE_HOME/salus/said, or in ~/.local/state. Where it cannot be kept safely it is not, and
 * then said each time. One thread.
 */
#ifndef DAEMON_CTL_ENVIRONMENT_SAID_H
#define DAEMON_CTL_ENVIRONMENT_SAID_H

#include <stdbool.h>

/* Whether `text` was not what was said last; it is now. */
bool said_is_new(const char *text);

#endif
