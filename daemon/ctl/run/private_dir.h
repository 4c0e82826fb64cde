/* SPDX-License-Identifier: Apache-2.0
 *
 * The directory of a private daemon: created for one command, removed by salusctl or the daemon,
 * whichever ends last. A later run sweeps it up if both were killed.
 */
#ifndef DAEMON_CTL_RUN_PRIVATE_DIR_H
#define DAEMON_CTL_RUN_PRIVATE_DIR_H

#define PRIVATE_DIR_BYTES 96

/* Creates <base>/salus-XXXXXX, mode 0700; `base` has at most TEMPORARY_RUN_MAX characters. *hold is
 * a descriptor that keeps it from being swept, in this process and in those that inherit it (it is
 * close-on-exec). Returns 0 or -errno. */
int private_dir_make(const char *base, char dir[PRIVATE_DIR_BYTES], int *hold);

/* Removes the directory with a daemon's files. Other files stay, and the directory with them. */
void private_dir_remove(const char *dir);

/* Removes this user's directories in `base` that no process holds any more. */
void private_dir_sweep(const char *base);

#endif
