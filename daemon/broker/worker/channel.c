/* SPDX-License-Identifier: Apache-2.0
 *
 * The outbox is bounded: a worker that does not read is ended long before it is full.
 */
#include "daemon/broker/worker/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "common/fdutil.h"

#define OUTBOX_MAX 4096u

/* A pending message. */
struct message {
    struct list link;
    struct wire_worker_msg msg;
    int fds[CHANNEL_FDS], nfds; /* duplicates owned by the message */
};

void channel_init(struct channel *c) {
    *c = (struct channel){.fd = -1};
    list_init(&c->outbox);
}

static void watch(struct channel *c, int events) {
    if (c->poll_events == events) return;
    c->poll_events = events;
    uv_poll_start(&c->poll, events, c->on_poll);
}

void channel_open(struct channel *c, int fd, uv_loop_t *loop, uv_poll_cb on_poll, void *data) {
    c->fd = fd;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    uv_poll_init(loop, &c->poll, fd);
    c->poll.data = data;
    c->on_poll = on_poll;
    watch(c, UV_READABLE);
}

static void drop_message(struct channel *c, struct message *p) {
    list_remove(&p->link);
    c->outbox_count--;
    for (int i = 0; i < p->nfds; i++)
        fdutil_close(&p->fds[i]);
    free(p);
}

void channel_close(struct channel *c) {
    uv_close((uv_handle_t *)&c->poll, NULL);
    fdutil_close(&c->fd);
    while (!list_empty(&c->outbox))
        drop_message(c, list_entry(c->outbox.next, struct message, link));
    c->poll_events = 0;
}

/* ---- sending --------------------------------------------------------------------------------- */

static int keep_message(struct channel *c, const struct wire_worker_msg *msg, const int *fds,
                        int nfds) {
    struct message *p = c->outbox_count < OUTBOX_MAX ? calloc(1, sizeof(*p)) : NULL;

    if (!p) return -ENOBUFS;
    p->msg = *msg;
    list_append(&c->outbox, &p->link);
    c->outbox_count++;
    for (; p->nfds < nfds; p->nfds++) {
        p->fds[p->nfds] = fcntl(fds[p->nfds], F_DUPFD_CLOEXEC, 0);
        if (p->fds[p->nfds] < 0) {
            int err = -errno;

            drop_message(c, p);
            return err;
        }
    }
    watch(c, UV_READABLE | UV_WRITABLE);
    return 0;
}

static int post(struct channel *c, const struct wire_worker_msg *msg, const int *fds, int nfds) {
    int err = -EAGAIN;

    if (list_empty(&c->outbox)) err = fdutil_send(c->fd, msg, sizeof(*msg), fds, nfds);
    if (nfds == 0 && fdutil_scarce(err))
        err = -EAGAIN; /* a message without descriptors must arrive */
    return err == -EAGAIN ? keep_message(c, msg, fds, nfds) : err;
}

/* Ends a worker that does not read. The poll handle sees its end, never a caller in the middle of
 * its work. */
static void end_worker(const struct channel *c) {
    if (c->pid > 0) kill(c->pid, SIGKILL);
    shutdown(c->fd, SHUT_RDWR);
}

int channel_tell(struct channel *c, const struct wire_worker_msg *msg, const int *fds, int nfds) {
    int err = post(c, msg, fds, nfds);

    if (err < 0 && !(nfds > 0 && fdutil_scarce(err))) end_worker(c);
    return err;
}

int channel_flush(struct channel *c, uint32_t *job_id, int *why) {
    while (!list_empty(&c->outbox)) {
        struct message *p = list_entry(c->outbox.next, struct message, link);
        int err = fdutil_send(c->fd, &p->msg, sizeof(p->msg), p->fds, p->nfds);

        if (err == -EAGAIN || (p->nfds == 0 && fdutil_scarce(err))) return 0;
        if (err < 0 && !fdutil_scarce(err)) return err;
        *job_id = p->msg.job_id;
        *why = err;
        drop_message(c, p);
        if (err < 0) return 1;
    }
    watch(c, UV_READABLE);
    return 0;
}
