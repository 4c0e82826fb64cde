/* SPDX-License-Identifier: Apache-2.0
 *
 * A write is tried at once and queued only if the socket is full; usually a request takes one read
 * and one write.
 */
#include "daemon/serve/http/tcp.h"

#include <poll.h>
#include <sys/socket.h>

static void on_closed(uv_handle_t *h) {
    struct tcp *t = h->data;
    t->ops->closed(t);
}

int tcp_accept(struct tcp *t, uv_stream_t *listener, const struct tcp_ops *ops) {
    int err;

    *t = (struct tcp){.ops = ops};
    uv_tcp_init(listener->loop, &t->handle); /* fails only for invalid flags, and there are none */
    t->handle.data = t;
    err = uv_accept(listener, (uv_stream_t *)&t->handle);
    if (!err) uv_tcp_nodelay(&t->handle, 1); /* a failure only makes the connection slower */
    return err;
}

static void on_room(uv_handle_t *h, size_t suggested, uv_buf_t *buf) {
    struct tcp *t = h->data;
    size_t bytes;

    buf->base = t->ops->room(t, &bytes);
    buf->len = bytes;
}

static void on_read(uv_stream_t *h, ssize_t n, const uv_buf_t *buf) {
    struct tcp *t = h->data;

    if (n > 0)
        t->ops->came(t, buf->base, (size_t)n);
    else if (n < 0)
        t->ops->ended(t);
}

void tcp_read(struct tcp *t, bool on) {
    if (t->reading == on) return;
    t->reading = on;
    if (!on)
        uv_read_stop((uv_stream_t *)&t->handle);
    else if (uv_read_start((uv_stream_t *)&t->handle, on_room, on_read))
        t->reading = false; /* the handle is closing */
}

static void on_written(uv_write_t *w, int status) {
    struct tcp *t = w->handle->data;

    if (status == UV_ECANCELED) return; /* closed() follows */
    if (status < 0)
        t->ops->ended(t);
    else
        t->ops->sent(t);
}

/* Removes the first `bytes` bytes from `bufs`; returns how many buffers remain. */
static unsigned without(uv_buf_t **bufs, unsigned count, size_t bytes) {
    while (count && bytes >= (*bufs)->len) {
        bytes -= (*bufs)->len;
        (*bufs)++;
        count--;
    }
    if (count) {
        (*bufs)->base += bytes;
        (*bufs)->len -= bytes;
    }
    return count;
}

int tcp_send(struct tcp *t, uv_buf_t *bufs, unsigned count) {
    int n = uv_try_write((uv_stream_t *)&t->handle, bufs, count), err;

    if (n == UV_EAGAIN) n = 0;
    if (n < 0) return n;
    count = without(&bufs, count, (size_t)n);
    if (count == 0) return 0;
    err = uv_write(&t->write, (uv_stream_t *)&t->handle, bufs, count, on_written);
    return err ? err : 1;
}

bool tcp_hung_up(const struct tcp *t) {
    struct pollfd p = {.events = POLLRDHUP};

    if (uv_fileno((const uv_handle_t *)&t->handle, &p.fd)) return true;
    return poll(&p, 1, 0) == 1;
}

void tcp_half_close(struct tcp *t) {
    uv_os_fd_t fd;

    if (uv_fileno((uv_handle_t *)&t->handle, &fd) == 0) shutdown(fd, SHUT_WR);
}

void tcp_close(struct tcp *t) {
    if (!uv_is_closing((uv_handle_t *)&t->handle)) uv_close((uv_handle_t *)&t->handle, on_closed);
}
