/* SPDX-License-Identifier: Apache-2.0
 *
 * A file that a command writes for its user. One that the command made goes again when it fails. A
 * file that was there before, a pipe or a terminal never does. One thread.
 */
#ifndef DAEMON_CTL_FILES_OUTPUT_FILE_H
#define DAEMON_CTL_FILES_OUTPUT_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "daemon/ctl/cli/cli.h"

struct output_file {
    const char *path;
    int fd;
    bool made; /* it was not there */
};

/* Opens it to be read and written (a pipe: to be written), and leaves what is in it. A new file has
 * this mode, less what umask says. `path` stays the caller's. CLI_OK, or an exit status after a
 * diagnostic. From now on a file that grows beyond the limit of this process (ulimit -f) is an
 * error and no signal. */
int output_file_open(struct cli *c, struct output_file *o, const char *path, mode_t mode);

/* Writes what it shall have, in place of what was in it. The same. */
int output_file_write(struct cli *c, const struct output_file *o, const void *bytes, size_t count);

/* Closes it; without `keep`, the command failed. */
void output_file_close(struct output_file *o, bool keep);

#endif
