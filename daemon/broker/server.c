/* SPDX-License-Identifier: Apache-2.0
 *
 * The loop and what hangs from it: listening sockets, signals, systemd's watchdog, orderly end.
 * libuv cannot pass descriptors of memfds, so sockets are polled and read with fdutil.
 */
#include "daemon/broker/server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/broker/broker.h"
#include "daemon/broker/config/choice.h"
#include "daemon/broker/control/change.h"
#include "daemon/broker/control/history.h"
#include "daemon/broker/listen.h"
#include "daemon/broker/notify.h"
#include "daemon/broker/store/profile_store.h"
#include "daemon/broker/worker/kernel_link.h"

#define RETRY_MS 200
#define ACCEPT_BATCH 16 /* connections taken before the loop looks at others */
#define KEEP_FDS 64     /* of the descriptors, for ourselves; an eighth where there are few */

static const int signal_numbers[] = {SIGTERM, SIGINT, SIGHUP};
#define SIGNALS 3

/* ---- accepting ------------------------------------------------------------------------------- */

static void on_retry(uv_timer_t *t);

bool server_scarce(int fd, bool operators) {
    struct rlimit limit = {0};
    rlim_t keep;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY) return false;
    keep = limit.rlim_cur / 8 < KEEP_FDS ? limit.rlim_cur / 8 : KEEP_FDS;
    if (operators) keep /= 2;
    return (rlim_t)fd + keep >= limit.rlim_cur; /* the lowest that is free is given out */
}

static void open_reserve(struct server *s) {
    if (s->reserve_fd < 0) s->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Polling on would spin: the connection stays readable. */
static void pause_listener(struct server *s, struct listener *l, int err) {
    log_error("server", "event=paused socket=%s why=\"%s\"", l->path, err_text(-err));
    uv_poll_stop(&l->poll);
    l->paused = true;
    uv_timer_start(&s->retry, on_retry, RETRY_MS, 0);
}

static void turn_away(struct server *s, struct listener *l, int fd) {
    log_warn("server", "event=turned-away socket=%s why=\"no descriptors left\"", l->path);
    if (l == &s->jobs)
        client_turn_away(fd, -EMFILE, SERVER_SCARCE_TEXT);
    else
        control_turn_away(fd, CTL_E_FAILED, SERVER_SCARCE_TEXT, "try again");
}

/* Not even one descriptor is free: the reserve is. Whether there was a connection. */
static bool turn_away_with_reserve(struct server *s, struct listener *l) {
    int fd;

    if (s->reserve_fd < 0) return false;
    fdutil_close(&s->reserve_fd);
    fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) turn_away(s, l, fd);
    open_reserve(s);
    return fd >= 0;
}

/* Takes one connection: 0, or the error for which there is none. */
static int accept_one(struct server *s, struct listener *l) {
    int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), err = fd < 0 ? errno : 0;

    if (err == EINTR || err == ECONNABORTED) return 0;
    if ((err == EMFILE || err == ENFILE) && turn_away_with_reserve(s, l)) return 0;
    if (err) return err;
    if (server_scarce(fd, l == &s->control))
        turn_away(s, l, fd);
    else
        l->take(s, fd);
    return 0;
}

static void on_connection(uv_poll_t *p, int status, int events) {
    struct server *s = p->data;
    struct listener *l = p == &s->jobs.poll ? &s->jobs : &s->control;

    for (int i = 0; i < ACCEPT_BATCH; i++) {
        int err = accept_one(s, l);

        if (err == EAGAIN) return;
        if (err) {
            pause_listener(s, l, err);
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
    struct server *s = t->data;

    open_reserve(s);
    resume(&s->jobs);
    resume(&s->control);
}

static int open_listener(struct server *s, struct listener *l, const char *name, mode_t mode,
                         void (*take)(struct server *, int), char *why, size_t cap) {
    l->take = take;
    snprintf(l->path, sizeof(l->path), "%.96s/%s", s->config.run_dir, name);
    l->fd = listen_open(l->path, mode, why, cap);
    if (l->fd < 0) return l->fd;
    l->open = true;
    uv_poll_init(&s->loop, &l->poll, l->fd);
    l->poll.data = s;
    uv_poll_start(&l->poll, UV_READABLE, on_connection);
    return 0;
}

static void close_listener(struct listener *l) {
    if (!l->open) return;
    l->open = false;
    uv_close((uv_handle_t *)&l->poll, NULL);
    unlink(l->path);
    fdutil_close(&l->fd);
}

/* ---- signals and end ------------------------------------------------------------------------- */

static void stop_all(struct server *s) {
    if (s->stopping) return;
    s->stopping = true;
    notify_send("STOPPING=1");
    log_info("server", "event=stopping clients=%u", s->client_count);
    close_listener(&s->jobs);
    close_listener(&s->control);
    client_end_all(s);
    control_end_all(s);
    supervise_stop(s);
    uv_close((uv_handle_t *)&s->stop, NULL);
    uv_close((uv_handle_t *)&s->watchdog, NULL);
    uv_close((uv_handle_t *)&s->retry, NULL);
    store_file_stop(&s->store.file);
    kernel_store_stop(&s->kernels.store);
    for (int i = 0; i < SIGNALS; i++)
        uv_close((uv_handle_t *)&s->signals[i], NULL);
}

static void on_stop(uv_async_t *a) {
    stop_all(a->data);
}

/* Logs a text of several lines, one record each. */
static void log_lines(enum log_level level, const char *event, char *text) {
    char *rest = text, *line;

    while ((line = strsep(&rest, "\n")))
        if (*line) log_each("config", level, "event=%s what=\"%s\"", event, line);
}

/* What the files say counts over what a request set only where the files changed. */
static void take_over(struct server *s, const struct config *fresh, FILE *notes) {
    struct wire_choice before, after;

    choice_from_config(&before, &s->config);
    config_reload(&s->config, fresh, notes);
    users_reload(s);
    choice_from_config(&after, &s->config);
    if (memcmp(&before, &after, sizeof(before)) == 0) return;
    s->choice = after;
    change_sync_policy(s);
}

static void reload(struct server *s) {
    struct config fresh;
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    int bad;

    if (!out) return;
    if (s->supervise.served) notify_send("RELOADING=1");
    bad = config_load(&fresh, s->sources, out);
    fflush(out);
    if (bad > 0) {
        log_lines(LOG_ERROR, "rejected", text);
        log_each("config", LOG_ERROR, "event=reload-failed errors=%d kept=\"what was set before\"",
                 bad);
    } else {
        take_over(s, &fresh, out);
        fflush(out);
        log_lines(LOG_WARN, "needs-restart", text);
        log_each("config", LOG_INFO, "event=reloaded");
    }
    fclose(out);
    free(text);
    if (s->supervise.served) notify_send("READY=1");
    supervise_retry(s);
}

static void on_signal(uv_signal_t *h, int number) {
    struct server *s = h->data;

    if (number == SIGHUP)
        reload(s);
    else
        stop_all(s);
}

static void on_watchdog(uv_timer_t *t) {
    notify_send("WATCHDOG=1");
}

/* ---- life ------------------------------------------------------------------------------------ */

static void init_handles(struct server *s) {
    uint64_t ms = s->sources ? notify_watchdog_ms() : 0;

    uv_async_init(&s->loop, &s->stop, on_stop);
    uv_timer_init(&s->loop, &s->watchdog);
    uv_timer_init(&s->loop, &s->retry);
    s->stop.data = s->watchdog.data = s->retry.data = s;
    if (ms > 0) uv_timer_start(&s->watchdog, on_watchdog, 0, ms);
    for (int i = 0; i < SIGNALS; i++) {
        uv_signal_init(&s->loop, &s->signals[i]);
        s->signals[i].data = s;
        if (s->sources) uv_signal_start(&s->signals[i], on_signal, signal_numbers[i]);
    }
    supervise_init(s);
}

int server_create(struct server **out, const struct config *config,
                  const struct config_sources *sources, const struct server_hooks *hooks, char *why,
                  size_t cap) {
    struct server *s = calloc(1, sizeof(*s));
    int rc = -ENOMEM;

    snprintf(why, cap, "out of memory");
    if (!s) return rc;
    s->history = history_create();
    if (!s->history) goto free_server;
    s->config = *config;
    choice_from_config(&s->choice, config);
    s->sources = sources;
    if (hooks) s->hooks = *hooks;
    s->jobs.fd = s->control.fd = s->reserve_fd = -1;
    s->start_ns = fdutil_now_ns();
    clock_gettime(CLOCK_REALTIME, &s->start);
    list_init(&s->clients);
    list_init(&s->controls);
    users_init(&s->users);
    slots_init(&s->slots, config);
    rc = s->lock_fd = listen_lock(config->run_dir, why, cap);
    if (rc < 0) goto free_server;
    rc = uv_loop_init(&s->loop);
    if (rc < 0) {
        snprintf(why, cap, "event loop: %s", uv_strerror(rc));
        goto unlock;
    }
    open_reserve(s);
    init_handles(s);
    profile_store_open(s);
    kernel_link_open(s);
    rc = open_listener(s, &s->jobs, "job.sock", 0666, client_accept, why, cap);
    if (rc == 0) rc = open_listener(s, &s->control, "ctl.sock", 0660, control_accept, why, cap);
    if (rc < 0) {
        server_destroy(s);
        return rc;
    }
    *out = s;
    return 0;
unlock:
    fdutil_close(&s->lock_fd);
free_server:
    history_destroy(s->history);
    free(s);
    return rc;
}

int server_run(struct server *s) {
    log_info("server", "event=listening run_dir=%s device=%s max_jobs=%llu", s->config.run_dir,
             s->config.device, (unsigned long long)s->config.max_jobs);
    supervise_start(s);
    uv_run(&s->loop, UV_RUN_DEFAULT); /* returns when stop_all has closed every handle */
    log_info("server", "event=stopped");
    return s->failed ? -EIO : 0;
}

void server_fail(struct server *s) {
    s->failed = true;
    stop_all(s);
}

const char *server_trouble(const struct server *s) {
    return s->supervise.trouble;
}

void server_stop(struct server *s) {
    uv_async_send(&s->stop);
}

void server_destroy(struct server *s) {
    if (!s) return;
    stop_all(s); /* where run never came to it */
    uv_run(&s->loop, UV_RUN_DEFAULT);
    uv_loop_close(&s->loop);
    profile_store_close(s);
    kernel_store_finish(&s->kernels.store);
    history_destroy(s->history);
    fdutil_close(&s->reserve_fd);
    fdutil_close(&s->lock_fd);
    free(s);
}
