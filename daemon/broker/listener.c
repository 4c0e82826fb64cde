/* SPDX-License-Identifier: Apache-2.0
 *
 * libuv cannot pass descriptors of memfds, so sockets are polled with libuv and read with fdutil.
 */
#include "daemon/broker/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/broker/fd_reserve.h"
#include "daemon/broker/listen.h"

#define RETRY_MS 200
#define ACCEPT_BATCH 16 /* connections accepted before the loop handles other events */

static void on_retry(uv_timer_t *t);

static void open_reserve(struct listeners *all) {
    if (all->reserve_fd < 0) all->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Stops polling for RETRY_MS: the pending connection keeps the socket readable, so polling would
 * spin. */
static void pause_listener(struct listener *l, int err) {
    log_error("server", "event=paused socket=%s why=\"%s\"", l->path, err_text(-err));
    uv_poll_stop(&l->poll);
    l->paused = true;
    uv_timer_start(&l->all->retry, on_retry, RETRY_MS, 0);
}

static void turn_away(const struct listener *l, int fd) {
    log_warn("server",
             "event=turned-away socket=%s why=\"salusd has no file descriptors left\" do=\"raise "
             "LimitNOFILE of salusd's unit, or 'ulimit -Hn'\"",
             l->path);
    l->turn_away(fd, -EMFILE);
}

/* No descriptor is free: uses the reserve to accept and refuse a connection. Returns false if the
 * reserve is in use or no connection waits. */
static bool turn_away_with_reserve(struct listener *l) {
    struct listeners *all = l->all;
    int fd;

    if (all->reserve_fd < 0) return false;
    fdutil_close(&all->reserve_fd);
    fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) turn_away(l, fd);
    open_reserve(all);
    return fd >= 0;
}

/* Accepts one connection, or refuses it when descriptors are scarce. Returns 0, or a positive errno
 * (EAGAIN: none waits). */
static int accept_one(struct listener *l) {
    int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), err = fd < 0 ? errno : 0;

    if (err == EINTR || err == ECONNABORTED) return 0;
    if ((err == EMFILE || err == ENFILE) && turn_away_with_reserve(l)) return 0;
    if (err) return err;
    if (fd_reserve_fd(fd, l->operators))
        turn_away(l, fd);
    else
        l->take(l->owner, fd);
    return 0;
}

static void on_connection(uv_poll_t *p, int status, int events) {
    struct listener *l = p->data;

    for (int i = 0; i < ACCEPT_BATCH; i++) {
        int err = accept_one(l);

        if (err == EAGAIN) return;
        if (err) {
            pause_listener(l, err);
            return;
        }
    }
}

static void resume(struct listener *l) {
    if (!l->open || !l->paused) return;
    l->paused = false;
    uv_poll_start(&l->poll, UV_READABLE, on_connection);
}

static void on_retry(uv_timer_t *t) {
    struct listeners *all = t->data;

    open_reserve(all);
    resume(&all->jobs);
    resume(&all->control);
}

/* ---- creation and end ----------------------------------------------------------------------- */

void listener_init(struct listeners *all, uv_loop_t *loop) {
    all->loop = loop;
    all->jobs.all = all->control.all = all;
    all->jobs.fd = all->control.fd = all->reserve_fd = -1;
    uv_timer_init(loop, &all->retry);
    all->retry.data = all;
    open_reserve(all);
}

int listener_open(struct listener *l, const char *run_dir, const char *name, mode_t mode, char *why,
                  size_t cap) {
    snprintf(l->path, sizeof(l->path), "%.96s/%s", run_dir, name);
    l->fd = listen_open(l->path, mode, why, cap);
    if (l->fd < 0) return l->fd;
    l->open = true;
    uv_poll_init(l->all->loop, &l->poll, l->fd);
    l->poll.data = l;
    uv_poll_start(&l->poll, UV_READABLE, on_connection);
    return 0;
}

static void close_one(struct listener *l) {
    if (!l->open) return;
    l->open = false;
    uv_close((uv_handle_t *)&l->poll, NULL);
    unlink(l->path);
    fdutil_close(&l->fd);
}

void listener_close(struct listeners *all) {
    close_one(&all->jobs);
    close_one(&all->control);
    uv_close((uv_handle_t *)&all->retry, NULL);
}

void listener_finish(struct listeners *all) {
    fdutil_close(&all->reserve_fd);
}
