/* SPDX-License-Identifier: Apache-2.0
 *
 * All parts on one loop: signals, reload, systemd's watchdog, orderly shutdown.
 */
#include "daemon/broker/server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/broker/clients/clients.h"
#include "daemon/broker/clients/handshake.h"
#include "daemon/broker/clients/places.h"
#include "daemon/broker/clients/refuse.h"
#include "daemon/broker/fd_reserve.h"
#include "daemon/broker/life/messages.h"
#include "daemon/broker/listen.h"
#include "daemon/broker/notify.h"
#include "daemon/broker/server_parts.h"

static const int signal_numbers[SERVER_SIGNALS] = {SIGTERM, SIGINT, SIGHUP};

/* ---- connections ----------------------------------------------------------------------------- */

static void take_client(void *owner, int fd) {
    clients_accept(owner, fd);
}

static void turn_client_away(int fd, int err) {
    refuse_connection(fd, err, FD_RESERVE_TEXT);
}

static void take_control(void *owner, int fd) {
    control_accept(owner, fd);
}

static void turn_control_away(int fd, int err) {
    control_turn_away(fd, CTL_E_FAILED, FD_RESERVE_TEXT, "try again");
}

static int listen_to_all(struct server *s, char *why, size_t cap) {
    struct listener *jobs = &s->listeners.jobs, *control = &s->listeners.control;
    const char *dir = s->broker.config.run_dir;
    int err;

    jobs->owner = &s->broker.clients;
    jobs->take = take_client;
    jobs->turn_away = turn_client_away;
    control->owner = &s->controls;
    control->take = take_control;
    control->turn_away = turn_control_away;
    control->operators = true;
    err = listener_open(jobs, dir, "job.sock", 0666, why, cap);
    return err < 0 ? err : listener_open(control, dir, "ctl.sock", 0660, why, cap);
}

/* ---- signals and end ------------------------------------------------------------------------- */

static void stop_all(struct server *s) {
    if (s->stopping) return;
    s->stopping = true;
    notify_send("STOPPING=1");
    log_info("server", "event=stopping clients=%u", s->broker.clients.count);
    listener_close(&s->listeners);
    clients_stop(&s->broker.clients);
    places_stop(&s->broker.clients);
    control_stop(&s->controls);
    for (uint32_t i = 0; i < s->broker.gpus.count; i++)
        supervise_stop(&s->supervise[i]);
    uv_close((uv_handle_t *)&s->stop, NULL);
    uv_close((uv_handle_t *)&s->watchdog, NULL);
    program_profile_store_stop(&s->broker.profiles);
    gpus_stop(&s->broker.gpus);
    for (int i = 0; i < SERVER_SIGNALS; i++)
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

static void take_over(struct broker *b, const struct config *fresh, FILE *notes) {
    config_reload(&b->config, fresh, notes);
    users_reload(&b->users);
    gpus_configure(&b->gpus, &b->config);
    places_give(&b->clients);
}

static void reload(struct server *s) {
    struct config fresh;
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    int bad;

    if (!out) return;
    if (s->announce.served) notify_send("RELOADING=1");
    bad = config_load(&fresh, s->sources, out);
    fflush(out);
    if (bad > 0) {
        log_lines(LOG_ERROR, "rejected", text);
        log_each(
            "config", LOG_ERROR,
            "event=reload-failed errors=%d text=\"the previous configuration stays in effect\"",
            bad);
    } else {
        take_over(&s->broker, &fresh, out);
        fflush(out);
        log_lines(LOG_WARN, "needs-restart", text);
        log_each("config", LOG_INFO, "event=reloaded");
    }
    fclose(out);
    free(text);
    if (s->announce.served) notify_send("READY=1");
    for (uint32_t i = 0; i < s->broker.gpus.count; i++)
        worker_retry(&s->broker.gpus.items[i].worker);
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

/* ---- creation and end ----------------------------------------------------------------------- */

static void init_handles(struct server *s) {
    uint64_t ms = s->sources ? notify_watchdog_ms() : 0;

    uv_async_init(&s->loop, &s->stop, on_stop);
    uv_timer_init(&s->loop, &s->watchdog);
    s->stop.data = s->watchdog.data = s;
    if (ms > 0) uv_timer_start(&s->watchdog, on_watchdog, 0, ms);
    for (int i = 0; i < SERVER_SIGNALS; i++) {
        uv_signal_init(&s->loop, &s->signals[i]);
        s->signals[i].data = s;
        if (s->sources) uv_signal_start(&s->signals[i], on_signal, signal_numbers[i]);
    }
}

/* Connects each part with the parts below it. */
static void init_rooms(struct broker *b) {
    program_profile_store_open(&b->profiles, &b->config, b->loop);
    gpus_init(&b->gpus, &b->config, b->loop);
    users_init(&b->users, &b->config, &b->gpus);
    list_init(&b->clients.list);
    b->clients.loop = b->loop;
    b->clients.config = &b->config;
    b->clients.gpus = &b->gpus;
    b->clients.users = &b->users;
    b->clients.profiles = &b->profiles;
    b->clients.history = b->history;
    places_init(&b->clients, handshake_begin);
}

int server_create(struct server **out, const struct config *config,
                  const struct config_sources *sources, const struct server_hooks *hooks, char *why,
                  size_t cap) {
    struct server *s = calloc(1, sizeof(*s));
    struct broker *b = &s->broker;
    int err = -ENOMEM;

    snprintf(why, cap, "out of memory");
    if (!s) return err;
    b->history = history_create();
    if (!b->history) goto free_server;
    b->config = *config;
    b->loop = &s->loop;
    b->start_ns = fdutil_now_ns();
    s->sources = sources;
    list_init(&s->controls.list);
    s->controls.broker = b;
    err = s->lock_fd = listen_lock(config->run_dir, why, cap);
    if (err < 0) goto free_server;
    err = uv_loop_init(&s->loop);
    if (err < 0) {
        snprintf(why, cap, "event loop: %s", uv_strerror(err));
        goto unlock;
    }
    if (notify_begin() < 0)
        log_warn("server", "event=not-notified why=\"NOTIFY_SOCKET is not a socket's address\"");
    init_handles(s);
    listener_init(&s->listeners, &s->loop);
    init_rooms(b);
    s->announce = (struct announce){.gpus = &b->gpus, .hopeless = &s->stop};
    for (uint32_t i = 0; i < b->gpus.count; i++)
        supervise_init(&s->supervise[i], b, &b->gpus.items[i], hooks, &s->announce, messages_poll);
    err = listen_to_all(s, why, cap);
    if (err < 0) {
        server_destroy(s);
        return err;
    }
    *out = s;
    return 0;
unlock:
    fdutil_close(&s->lock_fd);
free_server:
    history_destroy(b->history);
    free(s);
    return err;
}

int server_run(struct server *s) {
    const struct config *c = &s->broker.config;

    log_info("server", "event=listening run_dir=%s device=%s gpus=%llu max_jobs=%llu", c->run_dir,
             c->device, (unsigned long long)c->gpus, (unsigned long long)c->max_jobs);
    for (uint32_t i = 0; i < s->broker.gpus.count; i++)
        supervise_start(&s->supervise[i]);
    uv_run(&s->loop, UV_RUN_DEFAULT); /* returns when stop_all has closed every handle */
    log_info("server", "event=stopped");
    return s->announce.failed ? -EIO : 0;
}

const char *server_trouble(const struct server *s) {
    return s->broker.gpus.items[0].worker.trouble;
}

void server_stop(struct server *s) {
    uv_async_send(&s->stop);
}

void server_destroy(struct server *s) {
    if (!s) return;
    stop_all(s); /* unless server_run did it */
    uv_run(&s->loop, UV_RUN_DEFAULT);
    uv_loop_close(&s->loop);
    program_profile_store_close(&s->broker.profiles);
    gpus_finish(&s->broker.gpus);
    history_destroy(s->broker.history);
    listener_finish(&s->listeners);
    fdutil_close(&s->lock_fd);
    free(s);
}
