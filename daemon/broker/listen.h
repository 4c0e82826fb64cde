/* SPDX-License-Identifier: Apache-2.0
 *
 * The run directory: its lock, and the SOCK_SEQPACKET sockets in it. Blocking file system calls,
 * made before the loop runs and after it ended.
 */
#ifndef DAEMON_BROKER_LISTEN_H
#define DAEMON_BROKER_LISTEN_H

#include <stddef.h>
#include <sys/types.h>

/* Checks that only this process's user and root can write to the directory: others could answer
 * jobs in the daemon's place. 0, also where it is not there, or -EPERM with what to do in `why`. */
int listen_check_dir(const char *run_dir, char *why, size_t cap);

/* Creates the directory where it is missing, checks it, and takes its lock for as long as the
 * descriptor that is returned is open; -errno and the reason in `why`, which names the process that
 * has it. */
int listen_lock(const char *run_dir, char *why, size_t cap);

/* Opens a non-blocking listening socket at `path`. Replaces the socket of a dead daemon there, but
 * no other file. -errno and the reason. */
int listen_open(const char *path, mode_t mode, char *why, size_t cap);

/* Removes a run directory that was made for one daemon, after its end. Never one that another may
 * want to lock. */
void listen_remove(const char *run_dir);

#endif
