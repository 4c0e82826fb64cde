/* SPDX-License-Identifier: Apache-2.0
 *
 * The directory of a private daemon: made for one command, removed by whoever of salusctl and the
 * daemon ends last, and swept up by a later run where both were killed.
 */
#ifndef DAEMON_CTL_RUN_PRIVATE_DIR_H
#define DAEMON_CTL_RUN_PRIVATE_DIR_H

#define PRIVATE_DIR_BYTES 96

/* Makes <base>/salus-XXXXXX, mode 0700; `base` is of at most TEMPORARY_RUN_MAX characters. *hold is
 * a descriptor that keeps it from being swept, in this process and in those that inherit it (it is
 * close-on-exec). 0 or -errno. */
int private_dir_make(const char *base, char dir[PRIVATE_DIR_BYTES], int *hold);

/* With what a daemon leaves in it; what is not ours stays, and the directory with it. */
void private_dir_remove(const char *dir);

/* Removes directories of this user in `base` that nobody holds any more. */
void private_dir_sweep(const char *base);

#endif
