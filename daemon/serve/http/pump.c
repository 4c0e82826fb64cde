/* SPDX-License-Identifier: Apache-2.0
 *
 * The library runs in one place, from where it calls all else.
 */
#include "daemon/serve/http/pump.h"

#include <microhttpd.h>

static void on_closed(uv_handle_t *h) {
    struct front *f = h->data;

    if (--f->open_handles) return;
    hangup_finish(&f->hangup);
    if (f->done) f->done(f->done_arg);
}

static void close_all(struct front *f) {
    MHD_stop_daemon(f->mhd);
    f->mhd = NULL;
    uv_close((uv_handle_t *)&f->mhd_poll, on_closed);
    uv_close((uv_handle_t *)&f->hangup_poll, on_closed);
    uv_close((uv_handle_t *)&f->run, on_closed);
    uv_close((uv_handle_t *)&f->sweep, on_closed);
}

static void on_run(uv_timer_t *t);

static void run(struct front *f) {
    MHD_UNSIGNED_LONG_LONG ms;

    if (!f->mhd) return;
    uv_timer_stop(&f->run); /* who wakes it from within starts it again */
    MHD_run(f->mhd);
    if (f->stopping && f->conns.count == 0)
        close_all(f);
    else if (!uv_is_active((uv_handle_t *)&f->run) && MHD_get_timeout(f->mhd, &ms) == MHD_YES)
        uv_timer_start(&f->run, on_run, ms, 0);
}

static void on_run(uv_timer_t *t) {
    run(t->data);
}

static void on_mhd(uv_poll_t *p, int status, int events) {
    run(p->data);
}

void pump_wake(struct front *f) {
    uv_timer_start(&f->run, on_run, 0, 0);
}

int pump_join(struct front *f, uv_loop_t *loop) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(f->mhd, MHD_DAEMON_INFO_EPOLL_FD);
    int err = uv_poll_init(loop, &f->mhd_poll, info->epoll_fd);

    if (err) return err;
    err = uv_poll_init(loop, &f->hangup_poll, f->hangup.fd);
    if (err) {
        f->mhd_poll.data = f;
        f->open_handles = 1;
        uv_close((uv_handle_t *)&f->mhd_poll, on_closed);
        return err;
    }
    uv_timer_init(loop, &f->run);
    uv_timer_init(loop, &f->sweep);
    f->mhd_poll.data = f->hangup_poll.data = f->run.data = f->sweep.data = f;
    f->open_handles = FRONT_HANDLES;
    uv_poll_start(&f->mhd_poll, UV_READABLE, on_mhd);
    return 0;
}
