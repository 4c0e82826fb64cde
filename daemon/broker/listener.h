/* SPDX-License-Identifier: Apache-2.0
 *
 * Accepts connections in batches, and pauses when no descriptor is left. The last descriptors are
 * not used, except some of them for operators. A reserve descriptor allows telling a caller why
 * even when no other is left.
 *
 * Owner: struct server. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_LISTENER_H
#define DAEMON_BROKER_LISTENER_H

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

struct listeners;

/* A listening socket. */
struct listener {
    struct listeners *all;
    int fd;
    uv_poll_t poll;
    bool open, paused;
    bool operators; /* may use some of the last descriptors */
    char path[108];
    void *owner;
    void (*take)(void *owner, int fd); /* takes a connection over */
    void (*turn_away)(int fd,
                      int err); /* takes a connection over, to refuse it with FD_RESERVE_TEXT */
};

struct listeners {
    uv_loop_t *loop;
    struct listener jobs, control;
    uv_timer_t retry; /* resumes accepting after descriptors ran out */
    int reserve_fd; /* closed when no other descriptor is left, to accept and refuse; -1: in use */
};

void listener_init(struct listeners *all, uv_loop_t *loop);
/* Binds <run_dir>/<name>. listener_init has set `all`; the caller has set `operators` and the
 * members after `path`. Returns -errno with the reason. */
int listener_open(struct listener *l, const char *run_dir, const char *name, mode_t mode, char *why,
                  size_t cap);
void listener_close(
    struct listeners *all); /* closes both sockets and the timer; once, in the loop */
void listener_finish(struct listeners *all);

#endif
