/* SPDX-License-Identifier: Apache-2.0
 *
 * Taking connections: in batches, never the last descriptors, and with a pause where there is none.
 * A descriptor is held in reserve, so that even then a caller is told why.
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
    bool operators; /* may have some of the last descriptors */
    char path[108];
    void *owner;
    void (*take)(void *owner, int fd);  /* a connection, which is his */
    void (*turn_away)(int fd, int err); /* the same, to be told SCARCE_TEXT */
};

struct listeners {
    uv_loop_t *loop;
    struct listener jobs, control;
    uv_timer_t retry; /* accepting, after descriptors ran out */
    int reserve_fd;   /* given up when there is no other, to accept and to say so; -1: in use */
};

void listener_init(struct listeners *all, uv_loop_t *loop);
/* Binds <run_dir>/<name>; the members before `fd` and behind `path` are set. -errno and why. */
int listener_open(struct listener *l, const char *run_dir, const char *name, mode_t mode, char *why,
                  size_t cap);
void listener_close(struct listeners *all); /* both, and the timer; once, in the loop */
void listener_finish(struct listeners *all);

#endif
