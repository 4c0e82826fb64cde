/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies the standard output and error of a model's program into our log, one record per line, with
 * the model's name. Longer lines are split. During a flood the log writes a part and counts the
 * rest. Owner: the starter of the program. Thread: the loop's.
 */
#ifndef DAEMON_SERVE_WORKER_LINES_H
#define DAEMON_SERVE_WORKER_LINES_H

#include <uv.h>

#define LINES_BYTES 800 /* longest record */

struct lines {
    const char *name; /* the caller's */
    int fd, pid;
    uv_poll_t poll;
    size_t len;
    char text[LINES_BYTES];
};

/* Takes over the descriptor and reads it until lines_close. Returns 0, or -errno with the
 * descriptor closed. */
int lines_open(struct lines *l, uv_loop_t *loop, int fd, const char *name);
/* Reads available output and closes the handle. `closed` is called with the handle, whose data
 * pointer is `data`. */
void lines_close(struct lines *l, uv_close_cb closed, void *data);

#endif
