/* SPDX-License-Identifier: Apache-2.0
 *
 * A file that remembers something over the daemon's life: read at the start, written some time
 * after a change, in libuv's thread pool, since a disk may take its time. All of it or nothing of
 * it is on the disk, whatever happens. A file that cannot be understood is set aside, one that
 * cannot be written is said once: neither stops the daemon. Owner: whoever remembers. Thread: the
 * loop's.
 */
#ifndef DAEMON_BROKER_STORE_STORE_FILE_H
#define DAEMON_BROKER_STORE_STORE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "common/buf.h"

#define STORE_PATH_BYTES 600

struct store_file {
    const char *topic; /* of log records */
    size_t bytes_max;  /* what is longer was not written by us */
    uint64_t delay_ms; /* from the first change until it is written */
    void (*print)(const void *owner, struct buf *out);
    const void *owner;

    char path[STORE_PATH_BYTES]; /* empty: nothing is kept */
    uv_loop_t *loop;
    uv_timer_t timer;
    uint64_t generation; /* writings begun in an earlier one came too late */
    bool dirty, writing, complained, stopped;
};

/* Where a name of the configuration is: "" and what begins with '/' as it is, else in systemd's
 * STATE_DIRECTORY, or the run directory where there is none. */
void store_file_place(const char *name, const char *run_dir, char out[STORE_PATH_BYTES]);

/* The fields of the first paragraph and the path are filled. The timer is the loop's. */
void store_file_init(struct store_file *f, uv_loop_t *loop);
/* No writing begins from now on; the timer is closed. Once. */
void store_file_stop(struct store_file *f);

/* All of the file, for the caller to free: 0; -ENOENT also where nothing is kept; -EFBIG and other
 * -errno. */
int store_file_read(const struct store_file *f, char **out, size_t *bytes);
/* The path becomes <path>.corrupt. */
void store_file_set_aside(const struct store_file *f, const char *why);
/* What was just read could not be: says so, and sets it aside where it is the file's fault (-EINVAL
 * with `why`, -EFBIG). */
void store_file_unusable(const struct store_file *f, int err, const char *why);

/* Something changed. */
void store_file_touch(struct store_file *f);
/* What changed is written now, by this thread; what the pool is writing is given up. */
void store_file_flush(struct store_file *f);

#endif
