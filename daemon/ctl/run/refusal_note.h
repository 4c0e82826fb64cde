/* SPDX-License-Identifier: Apache-2.0
 *
 * The file into which a command's library writes why its job was refused (SALUS_REFUSED). It has no
 * name in any folder: the command's processes open it through the launcher's descriptor, whether or
 * not salusd can be asked. Owner: the launcher.
 */
#ifndef DAEMON_CTL_RUN_REFUSAL_NOTE_H
#define DAEMON_CTL_RUN_REFUSAL_NOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Returns a descriptor that the command does not inherit; -1: no reason will be received this way.
 */
int refusal_note_create(void);

/* Called in the command's process: names the file of the launcher `parent` in the environment. */
void refusal_note_announce(int fd, pid_t parent);

/* Returns true if a job was refused, with the first reason in `why`. Closes the file. */
bool refusal_note_take(int fd, char *why, size_t cap);

#endif
