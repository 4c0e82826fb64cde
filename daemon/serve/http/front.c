/* SPDX-License-Identifier: Apache-2.0
 *
 * What the library calls, and the front's life. All that a client does is in the room's other
 * files.
 */
#include "daemon/serve/http/front.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "daemon/serve/http/address.h"
#include "daemon/serve/http/front_parts.h"
#include "daemon/serve/http/intake.h"
#include "daemon/serve/http/pump.h"
#include "daemon/serve/http/reply.h"
#include "daemon/serve/http/show.h"

/* Of the library's for each connection: a request's headers, pieces of its body, the headers of its
 * answer. What does not fit is answered 431. It is cleared after each request, which costs. */
#define POOL_BYTES (16u << 10)
#define POOL_STEP_BYTES (4u << 10)
#define SPARE_CONNECTIONS 64u /* above the limit, so that one too many is told so */

/* ---- called by the library ------------------------------------------------------------------- */

static void on_connection(void *arg, struct MHD_Connection *mhd, void **own,
                          enum MHD_ConnectionNotificationCode code) {
    const union MHD_ConnectionInfo *info;

    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        exchange_destroy(*own);
        *own = NULL;
        return;
    }
    info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    *own = exchange_create(arg, mhd, info->connect_fd);
}

static struct exchange *exchange_on(struct MHD_Connection *mhd) {
    return MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static void *on_line(void *arg, const char *uri, struct MHD_Connection *mhd) {
    struct exchange *x = exchange_on(mhd);

    if (x) exchange_begin(x, uri);
    return x;
}

static void on_end(void *arg, struct MHD_Connection *mhd, void **own,
                   enum MHD_RequestTerminationCode code) {
    struct exchange *x = *own;

    if (!x) return;
    if (code == MHD_REQUEST_TERMINATED_CLIENT_ABORT || code == MHD_REQUEST_TERMINATED_READ_ERROR)
        x->state = EXCHANGE_GONE;
    exchange_end(x);
}

/* All of it is there. */
static void dispatch(struct exchange *x) {
    if (!x->why.status) {
        if (x->route.kind != ROUTE_INFER) {
            show_route(x);
        } else {
            intake_request(x);
            if (!x->why.status) {
                reply_ask(x);
                return;
            }
        }
    }
    if (x->why.status) exchange_refuse(x);
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *mhd, const char *url,
                                  const char *method, const char *http, const char *data,
                                  size_t *bytes, void **own) {
    struct exchange *x = *own;

    if (!x || x->state == EXCHANGE_GONE) return MHD_NO;
    if (x->state == EXCHANGE_LINE) {
        if (!intake_head(x, method, url)) return MHD_YES;
        exchange_refuse(x);
    } else if (*bytes) {
        intake_piece(x, data, *bytes);
        *bytes = 0;
        return MHD_YES;
    } else if (x->state == EXCHANGE_BODY) {
        dispatch(x);
    }
    if (x->state == EXCHANGE_WAITING) return MHD_YES;
    if (x->state == EXCHANGE_GONE) return MHD_NO;
    return exchange_queue(x) == 0 ? MHD_YES : MHD_NO;
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void on_hangup(uv_poll_t *p, int status, int events) {
    reply_look(p->data);
}

static void on_sweep(uv_timer_t *t) {
    struct front *f = t->data;
    conns_expire(&f->conns, fdutil_now_ns());
}

/* Often enough that no limit is passed by more than a quarter; in ms. */
static uint64_t sweep_ms(const struct front_limits *l) {
    uint64_t least = l->idle_ns;

    if (l->receive_ns < least) least = l->receive_ns;
    if (l->send_ns < least) least = l->send_ns;
    least /= 4000000;
    return least < 10 ? 10 : least > 1000 ? 1000 : least;
}

/* ---- life ------------------------------------------------------------------------------------ */

static int start(struct front *f, int fd) {
    f->mhd = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, f,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)(f->limits.connections + SPARE_CONNECTIONS), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)POOL_BYTES, MHD_OPTION_CONNECTION_MEMORY_INCREMENT, (size_t)POOL_STEP_BYTES,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, f, MHD_OPTION_URI_LOG_CALLBACK, on_line, f,
        MHD_OPTION_NOTIFY_COMPLETED, on_end, f, MHD_OPTION_END);
    return f->mhd ? 0 : errno ? -errno : -EIO;
}

static struct front *make(const struct front_config *c) {
    struct front *f = calloc(1, sizeof(*f));

    if (!f) return NULL;
    f->limits = c->limits;
    f->ops = c->ops;
    f->arg = c->arg;
    f->port = c->port;
    conns_init(&f->conns, c->limits.connections);
    f->conns.limit_ns[CONN_IDLE] = c->limits.idle_ns;
    f->conns.limit_ns[CONN_RECEIVING] = c->limits.receive_ns;
    f->conns.limit_ns[CONN_SENDING] = c->limits.send_ns;
    return f;
}

static void destroy(void *arg) {
    front_destroy(arg);
}

int front_create(struct front **out, struct uv_loop_s *loop, const struct front_config *config,
                 char *why, size_t cap) {
    struct front *f = make(config);
    const char *step = "epoll";
    int fd, err;

    if (!f) return -ENOMEM;
    fd = address_listen(config->address ? config->address : "127.0.0.1", &f->port, why, cap);
    err = fd;
    if (fd < 0) goto fail_address;
    err = hangup_init(&f->hangup);
    if (err) goto fail_hangup;
    step = "libmicrohttpd";
    errno = 0;
    err = start(f, fd);
    if (err) goto fail_start;
    step = "libuv";
    err = pump_join(f, loop);
    if (err) goto fail_loop;
    uv_poll_start(&f->hangup_poll, UV_READABLE, on_hangup);
    uv_timer_start(&f->sweep, on_sweep, sweep_ms(&f->limits), sweep_ms(&f->limits));
    *out = f;
    return 0;
fail_loop:
    MHD_stop_daemon(f->mhd);
    snprintf(why, cap, "%s: %s", step, strerror(-err));
    if (f->open_handles) { /* the loop has one still */
        f->done = destroy;
        f->done_arg = f;
        return err;
    }
    fd = -1; /* the library closed it */
fail_start:
    hangup_finish(&f->hangup);
fail_hangup:
    fdutil_close(&fd);
    snprintf(why, cap, "%s: %s", step, strerror(-err));
fail_address:
    free(f);
    return err;
}

uint16_t front_port(const struct front *f) {
    return f->port;
}

void front_stop(struct front *f, void (*done)(void *arg), void *arg) {
    int fd;

    if (f->stopping) return;
    f->stopping = true;
    f->done = done;
    f->done_arg = arg;
    fd = MHD_quiesce_daemon(f->mhd);
    fdutil_close(&fd);
    conns_shut_idle(&f->conns);
    pump_wake(f);
}

void front_destroy(struct front *f) {
    free(f);
}
