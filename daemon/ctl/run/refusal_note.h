/* SPDX-License-Identifier: Apache-2.0
 *
 * The file into which a command's library writes why its job was refused (SALUS_REFUSED). It has no
 * name in any folder: the command's processes reach it through the launcher's descriptor, whatever
 * salusd says and whether it can be asked. Owner: the launcher.
 */
#ifndef DAEMON_CTL_RUN_REFUSAL_NOTE_H
#define DAEMON_CTL_RUN_REFUSAL_NOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A descriptor, which the command does not inherit; -1: nothing will be heard by this way. */
int refusal_note_create(void);

/* In the command's process: names the file of the launcher `parent` in the environment. */
void refusal_note_announce(int fd, pid_t parent);

/* True if a job was refused, with the reason of the first in `why`. Closes the file. */
bool refusal_note_take(int fd, char *why, size_t cap);

#endif
