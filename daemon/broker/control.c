/* SPDX-License-Identifier: Apache-2.0
 *
 * The control socket: one msgpack request, one reply, in order, as long as the caller likes. Who
 * may ask is the socket's file mode; who may change what, change.h. A caller that sends what is no
 * request is told why and closed. While the worker's answer is awaited nothing more is read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/broker/broker.h"
#include "daemon/broker/change.h"
#include "daemon/broker/report.h"
#include "proto/ctl_msg.h"

#define IDLE_MS 60000 /* a silent connection is closed, so that none can be hoarded */

#define REQUEST_BYTES 4096 /* requests are small; replies are what needs CTL_MESSAGE_MAX */

struct control {
    struct list link;
    struct server *server;
    int fd, handles;
    uid_t uid; /* SO_PEERCRED's */
    uv_poll_t poll;
    uv_timer_t idle;
    bool waiting; /* for the worker's answer to `request` */
    struct ctl_request request;
};

static void on_readable(uv_poll_t *p, int status, int events);

static void on_handle_closed(uv_handle_t *h) {
    struct control *c = h->data;

    if (--c->handles == 0) free(c);
}

static void control_close(struct control *c) {
    struct server *s = c->server;

    if (c->waiting) change_forget(s, c);
    list_remove(&c->link);
    s->control_count--;
    uv_close((uv_handle_t *)&c->poll, on_handle_closed);
    uv_close((uv_handle_t *)&c->idle, on_handle_closed);
    fdutil_close(&c->fd);
    server_resume(s);
}

static void on_idle(uv_timer_t *t) {
    struct control *c = t->data;

    if (!c->waiting) {
        control_close(c);
        return;
    }
    change_forget(c->server, c);
    control_done(c, -ETIMEDOUT, "the GPU worker did not answer; it may still do it");
}

static void listen_again(struct control *c) {
    c->waiting = false;
    uv_poll_start(&c->poll, UV_READABLE, on_readable);
    uv_timer_start(&c->idle, on_idle, IDLE_MS, IDLE_MS);
}

/* A worker that is as late as that is about to be ended. */
static void wait_for_worker(struct control *c, const struct ctl_request *r) {
    c->waiting = true;
    c->request = *r;
    uv_poll_stop(&c->poll);
    uv_timer_start(&c->idle, on_idle, c->server->config.worker_timeout / 2000000, 0);
}

void control_done(struct control *c, int result, const char *text) {
    struct ctl_out *out = ctl_msg_create();
    const void *reply;
    size_t n;
    int rc = -ENOMEM;

    listen_again(c);
    if (out && result < 0)
        rc = ctl_msg_refusal(out, CTL_E_FAILED, text, "see 'salusctl status'", &reply, &n);
    else if (out)
        rc = report_answer(c->server, &c->request, out, &reply, &n);
    if (rc == 0) rc = fdutil_send(c->fd, reply, n, NULL, 0);
    ctl_msg_destroy(out);
    if (rc < 0) control_close(c);
}

static bool changes(enum ctl_verb verb) {
    switch (verb) {
    case CTL_V_JOB_SET:
    case CTL_V_JOB_PAUSE:
    case CTL_V_JOB_RESUME:
    case CTL_V_JOB_KILL:
    case CTL_V_POLICY_SET: return true;
    default: return false;
    }
}

/* Answers one request: 0, or negative when the connection is of no more use. */
static int answer(struct control *c, const void *request, size_t bytes) {
    struct ctl_request r;
    enum ctl_error error;
    char why[CTL_MSG_WHY_BYTES];
    struct ctl_out *out = ctl_msg_create();
    const void *reply;
    size_t n;
    int rc, bad;

    if (!out) return -ENOMEM;
    bad = ctl_msg_request_decode(request, bytes, &r, &error, why, sizeof(why));
    if (bad < 0) {
        log_warn("control", "event=refused why=\"%s\"", why);
        rc = ctl_msg_refusal(out, error, why, "see salusctl(1)", &reply, &n);
    } else if (changes(r.verb)) {
        rc = change_start(c->server, &r, c->uid, c, out, &reply, &n);
        if (rc > 0) wait_for_worker(c, &r);
    } else {
        rc = report_answer(c->server, &r, out, &reply, &n);
    }
    if (rc == 0) rc = fdutil_send(c->fd, reply, n, NULL, 0);
    ctl_msg_destroy(out);
    return rc < 0 ? rc : bad;
}

static void on_readable(uv_poll_t *p, int status, int events) {
    struct control *c = p->data;
    unsigned char buf[REQUEST_BYTES];
    int n = fdutil_recv(c->fd, buf, sizeof(buf), NULL, NULL);

    if (n == -EAGAIN && status == 0) return;
    if (n == -EPROTO)
        log_warn("control", "event=closed why=\"request above %d bytes, or with descriptors\"",
                 REQUEST_BYTES);
    if (n <= 0 || answer(c, buf, (size_t)n) < 0)
        control_close(c);
    else if (!c->waiting)
        uv_timer_again(&c->idle);
}

void control_accept(struct server *s, int fd) {
    struct control *c = calloc(1, sizeof(*c));
    struct ucred cred = {0};
    socklen_t n = sizeof(cred);

    if (!c || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) < 0) {
        free(c);
        fdutil_close(&fd);
        return;
    }
    *c = (struct control){.server = s, .fd = fd, .handles = 2, .uid = cred.uid};
    list_append(&s->controls, &c->link);
    s->control_count++;
    uv_poll_init(&s->loop, &c->poll, fd);
    uv_timer_init(&s->loop, &c->idle);
    c->poll.data = c->idle.data = c;
    uv_poll_start(&c->poll, UV_READABLE, on_readable);
    uv_timer_start(&c->idle, on_idle, IDLE_MS, IDLE_MS);
}

void control_end_all(struct server *s) {
    while (!list_empty(&s->controls))
        control_close(list_entry(s->controls.next, struct control, link));
}
