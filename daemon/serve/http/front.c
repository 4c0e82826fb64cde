/* SPDX-License-Identifier: Apache-2.0
 *
 * The listener, the timers, and the front's start and stop. The other files of this directory
 * handle the clients.
 */
#include "daemon/serve/http/front.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fdutil.h"
#include "daemon/serve/http/address.h"
#include "daemon/serve/http/advance.h"
#include "daemon/serve/http/front_parts.h"

#define BACKLOG 4096
#define LEAVING_NS 2000000000u /* time for a client to hang up */

/* ---- stop ------------------------------------------------------------------------------------ */

static void count_down(struct front *f) {
    if (--f->open_handles == 0 && f->done) f->done(f->done_arg);
}

static void on_closed(uv_handle_t *h) {
    count_down(h->data);
}

/* Closes the timers once the front stops and the last connection is closed. */
static void close_if_idle(struct front *f) {
    if (!f->stopping || f->closing || f->conns.count) return;
    f->closing = true;
    uv_close((uv_handle_t *)&f->sweep, on_closed);
    uv_close((uv_handle_t *)&f->again, on_closed);
}

static void on_left(struct front *f) {
    close_if_idle(f);
    count_down(f);
}

/* ---- callbacks of the loop ------------------------------------------------------------------- */

static void on_connection(uv_stream_t *listener, int status);

static void on_turned_away(uv_handle_t *h) {
    struct front *f = h->data;

    f->turning_away = false;
    if (!f->stopping && f->one_waits) on_connection((uv_stream_t *)&f->listener, 0);
    count_down(f);
}

/* Accepts and closes the next connection because memory is short; later ones wait until that is
 * done. */
static void turn_away(struct front *f) {
    f->one_waits = f->turning_away;
    if (f->turning_away) return;
    uv_tcp_init(f->listener.loop, &f->unwanted);
    f->unwanted.data = f;
    f->turning_away = true;
    f->open_handles++;
    uv_accept((uv_stream_t *)&f->listener, (uv_stream_t *)&f->unwanted);
    uv_close((uv_handle_t *)&f->unwanted, on_turned_away);
}

static void on_connection(uv_stream_t *listener, int status) {
    struct front *f = listener->data;

    if (status == 0 && advance_accept(f)) turn_away(f);
}

static void on_sweep(uv_timer_t *t) {
    struct front *f = t->data;
    conns_expire(&f->conns, fdutil_now_ns());
    advance_look(f);
}

/* The period of the sweep in ms, short enough that no limit is exceeded by more than a quarter. */
static uint64_t sweep_ms(const struct front_limits *l) {
    uint64_t least = l->idle_ns;

    if (l->receive_ns < least) least = l->receive_ns;
    if (l->send_ns < least) least = l->send_ns;
    least /= 4000000;
    return least < 10 ? 10 : least > 500 ? 500 : least;
}

/* ---- start ----------------------------------------------------------------------------------- */

static struct front *make(const struct front_config *c) {
    struct front *f = calloc(1, sizeof(*f));

    if (!f) return NULL;
    f->limits = c->limits;
    f->ops = c->ops;
    f->arg = c->arg;
    f->port = c->port;
    f->left = on_left;
    list_init(&f->behind);
    conns_init(&f->conns, c->limits.connections, advance_shut);
    f->conns.limit_ns[CONN_IDLE] = c->limits.idle_ns;
    f->conns.limit_ns[CONN_RECEIVING] = c->limits.receive_ns;
    f->conns.limit_ns[CONN_SENDING] = c->limits.send_ns;
    f->conns.limit_ns[CONN_LEAVING] = LEAVING_NS;
    return f;
}

static void destroy(void *arg) {
    front_destroy(arg);
}

/* Returns 0 or -errno; the handles are in the loop in either case. Takes over the descriptor. */
static int join(struct front *f, struct uv_loop_s *loop, int fd) {
    int err;

    uv_tcp_init(loop, &f->listener);
    uv_timer_init(loop, &f->sweep);
    uv_timer_init(loop, &f->again);
    f->listener.data = f->sweep.data = f->again.data = f;
    f->open_handles = 3;
    err = uv_tcp_open(&f->listener, fd);
    if (err) {
        fdutil_close(&fd);
        return err;
    }
    err = uv_listen((uv_stream_t *)&f->listener, BACKLOG, on_connection);
    return err ? err
               : uv_timer_start(&f->sweep, on_sweep, sweep_ms(&f->limits), sweep_ms(&f->limits));
}

int front_create(struct front **out, struct uv_loop_s *loop, const struct front_config *config,
                 char *why, size_t cap) {
    struct front *f = make(config);
    int fd, err;

    if (!f) return -ENOMEM;
    fd = address_listen(config->address ? config->address : "127.0.0.1", &f->port, why, cap);
    if (fd < 0) {
        free(f);
        return fd;
    }
    err = join(f, loop, fd);
    if (err) {
        snprintf(why, cap, "libuv: %s", strerror(-err));
        front_stop(f, destroy, f); /* the loop still has its handles */
        return err;
    }
    *out = f;
    return 0;
}

uint16_t front_port(const struct front *f) {
    return f->port;
}

void front_stop(struct front *f, void (*done)(void *arg), void *arg) {
    if (f->stopping) return;
    f->stopping = true;
    f->done = done;
    f->done_arg = arg;
    uv_close((uv_handle_t *)&f->listener, on_closed);
    conns_shut_idle(&f->conns);
    close_if_idle(f);
}

void front_destroy(struct front *f) {
    free(f);
}
