/* SPDX-License-Identifier: Apache-2.0
 *
 * What a model's program writes to its standard output and error, into our log: a record a line,
 * with the model's name. Lines that are too long are cut in pieces; of a flood the log writes a
 * part and counts the rest. Owner: whoever started the program. Thread: the loop's.
 */
#ifndef DAEMON_SERVE_WORKER_LINES_H
#define DAEMON_SERVE_WORKER_LINES_H

#include <uv.h>

#define LINES_BYTES 800 /* of a record */

struct lines {
    const char *name; /* the caller's */
    int fd, pid;
    uv_poll_t poll;
    size_t len;
    char text[LINES_BYTES];
};

/* Takes the descriptor, to be read until lines_close. 0 or -errno; then it is closed. */
int lines_open(struct lines *l, uv_loop_t *loop, int fd, const char *name);
/* Takes what is there still, and lets go; `closed` gets the handle, whose data it may use. */
void lines_close(struct lines *l, uv_close_cb closed, void *data);

#endif
