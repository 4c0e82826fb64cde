/* SPDX-License-Identifier: Apache-2.0
 *
 * The run directory: its lock, and its SOCK_SEQPACKET sockets. Blocking file system calls, made
 * before the loop runs and after it has ended.
 */
#ifndef DAEMON_BROKER_LISTEN_H
#define DAEMON_BROKER_LISTEN_H

#include <stddef.h>
#include <sys/types.h>

/* Checks that only this process's user and root can write to the directory, because others could
 * answer jobs in the daemon's place. Returns 0, also if the directory is missing, or -EPERM with a
 * remedy in `why`. */
int listen_check_dir(const char *run_dir, char *why, size_t cap);

/* Creates the directory if it is missing, checks it, and locks it for as long as the returned
 * descriptor is open. Returns -errno with the reason in `why`, which names the process that holds
 * the lock. */
int listen_lock(const char *run_dir, char *why, size_t cap);

/* Opens a non-blocking listening socket at `path`. Replaces the socket of a dead daemon there, but
 * no other file. Returns -errno with the reason. */
int listen_open(const char *path, mode_t mode, char *why, size_t cap);

/* Removes a run directory that was created for one daemon, after that has ended. Not for a
 * directory that another daemon may lock. */
void listen_remove(const char *run_dir);

#endif
