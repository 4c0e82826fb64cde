/* SPDX-License-Identifier: Apache-2.0
 *
 * A TCP connection in a loop of libuv: bytes in where its owner wants them, bytes out at once where
 * the socket has room. The struct is the owner's, from tcp_accept() until closed(). In the
 * loop's thread.
 */
#ifndef DAEMON_SERVE_HTTP_TCP_H
#define DAEMON_SERVE_HTTP_TCP_H

#include <stdbool.h>
#include <uv.h>

struct tcp;

/* What its owner is told, in the loop; any of it may close it. */
struct tcp_ops {
    void *(*room)(struct tcp *t, size_t *bytes); /* for what comes, 1 byte or more */
    void (*came)(struct tcp *t, void *at, size_t bytes);
    void (*sent)(struct tcp *t);   /* all that tcp_send() queued */
    void (*ended)(struct tcp *t);  /* its peer hung up, or half so; or it broke */
    void (*closed)(struct tcp *t); /* the last of it */
};

struct tcp {
    uv_tcp_t handle;
    uv_write_t write;
    const struct tcp_ops *ops;
    bool reading;
};

/* The next connection of a listener. 0, or -errno; closed() follows either way, once tcp_close()
 * was called. */
int tcp_accept(struct tcp *t, uv_stream_t *listener, const struct tcp_ops *ops);

/* What comes is read, or waits; at first it waits. */
void tcp_read(struct tcp *t, bool on);

/* 0: all of it has gone. 1: the rest goes when it can: sent() follows, and what `bufs` point at
 * stays until then or until closed(); nothing else may be sent before. -errno: it broke. */
int tcp_send(struct tcp *t, uv_buf_t *bufs, unsigned count);

/* Whether its peer did, or half so, whatever can still be read. */
bool tcp_hung_up(const struct tcp *t);

/* The peer is told that nothing follows; what it sends is read on. */
void tcp_half_close(struct tcp *t);

/* At once; what was queued is dropped. */
void tcp_close(struct tcp *t);

#endif
