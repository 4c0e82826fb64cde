/* SPDX-License-Identifier: Apache-2.0
 *
 * A TCP connection in a libuv loop. Bytes are read to where the owner wants them, and written at
 * once if the socket has space. The owner keeps the struct from tcp_accept() until closed().
 * Thread: the loop's.
 */
#ifndef DAEMON_SERVE_HTTP_TCP_H
#define DAEMON_SERVE_HTTP_TCP_H

#include <stdbool.h>
#include <uv.h>

struct tcp;

/* Callbacks, in the loop; each may close the connection. */
struct tcp_ops {
    void *(*room)(struct tcp *t, size_t *bytes); /* buffer for incoming bytes, at least 1 byte */
    void (*came)(struct tcp *t, void *at, size_t bytes);
    void (*sent)(struct tcp *t); /* all bytes queued by tcp_send() are sent */
    /* The peer closed the connection or its sending half, or the connection broke. */
    void (*ended)(struct tcp *t);
    void (*closed)(struct tcp *t); /* the last callback */
};

struct tcp {
    uv_tcp_t handle;
    uv_write_t write;
    const struct tcp_ops *ops;
    bool reading;
};

/* Accepts a connection of a listener. Returns 0 or -errno; in either case closed() follows after
 * tcp_close(). */
int tcp_accept(struct tcp *t, uv_stream_t *listener, const struct tcp_ops *ops);

/* Turns reading on or off; it is off at first. */
void tcp_read(struct tcp *t, bool on);

/* Returns 0 if all is sent. Returns 1 if the rest is queued: sent() follows; the data of `bufs`
 * must stay valid until then or until closed(), and nothing else may be sent before. Returns -errno
 * if the connection broke. */
int tcp_send(struct tcp *t, uv_buf_t *bufs, unsigned count);

/* Tests whether the peer closed the connection or its sending half, even if unread bytes remain. */
bool tcp_hung_up(const struct tcp *t);

/* Shuts down our sending half; reading continues. */
void tcp_half_close(struct tcp *t);

/* Closes at once and drops queued bytes. */
void tcp_close(struct tcp *t);

#endif
