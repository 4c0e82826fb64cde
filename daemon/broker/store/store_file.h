/* SPDX-License-Identifier: Apache-2.0
 *
 * A file with data that outlives the daemon: read at start, written some time after a change, in
 * libuv's thread pool, because a disk may be slow. Writes are atomic. A file that cannot be parsed
 * is set aside; one that cannot be written is logged once. Neither stops the daemon. Owner: the
 * owner of the data. Thread: the loop's.
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
    const char *topic; /* topic of log records */
    size_t bytes_max;  /* a longer file was not written by us */
    uint64_t delay_ms; /* from the first change to the write */
    void (*print)(const void *owner, struct buf *out);
    const void *owner;

    char path[STORE_PATH_BYTES]; /* empty: nothing is stored */
    uv_loop_t *loop;
    uv_timer_t timer;
    uint64_t generation; /* writes begun in an earlier generation are discarded */
    bool dirty, writing, complained, stopped;
};

/* Builds the path of a configured name: "" and names that begin with '/' are unchanged; others lie
 * in systemd's STATE_DIRECTORY, or without one in the run directory. */
void store_file_place(const char *name, const char *run_dir, char out[STORE_PATH_BYTES]);

/* Initialises the rest; the caller has set the members of the first paragraph and the path. Removes
 * what an interrupted write of an earlier daemon left beside the file. The timer is the loop's. */
void store_file_init(struct store_file *f, uv_loop_t *loop);
/* Begins no more writes and closes the timer. Once. */
void store_file_stop(struct store_file *f);

/* Reads the whole file, for the caller to free. Returns 0; -ENOENT, also when nothing is stored;
 * -EFBIG or another -errno. */
int store_file_read(const struct store_file *f, char **out, size_t *bytes);
/* Renames the file to <path>.corrupt. */
void store_file_set_aside(const struct store_file *f, const char *why);
/* Reports that the file just read is unusable, and sets it aside if that is the file's fault
 * (-EINVAL with `why`, -EFBIG). */
void store_file_unusable(const struct store_file *f, int err, const char *why);

/* Called when the data changed. */
void store_file_touch(struct store_file *f);
/* Writes changed data now, in this thread; a write in progress in the pool is discarded. */
void store_file_flush(struct store_file *f);

#endif
