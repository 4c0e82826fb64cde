/* SPDX-License-Identifier: Apache-2.0
 *
 * A file that a command writes for its user. A file that the command created is removed when it
 * fails; a file that existed before, a pipe or a terminal never is. One thread.
 */
#ifndef DAEMON_CTL_FILES_OUTPUT_FILE_H
#define DAEMON_CTL_FILES_OUTPUT_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "daemon/ctl/cli/cli.h"

struct output_file {
    const char *path;
    int fd;
    bool made; /* the file did not exist before */
};

/* Opens the file for reading and writing (a pipe: for writing) and keeps its contents. A new file
 * gets this mode, less umask. `path` stays the caller's. Returns CLI_OK, or an exit status after a
 * diagnostic. From now on exceeding this process's file size limit (ulimit -f) is an error instead
 * of a signal. */
int output_file_open(struct cli *c, struct output_file *o, const char *path, mode_t mode);

/* Replaces the contents. Returns the same. */
int output_file_write(struct cli *c, const struct output_file *o, const void *bytes, size_t count);

/* Closes the file. Without `keep`, the command failed. */
void output_file_close(struct output_file *o, bool keep);

#endif
