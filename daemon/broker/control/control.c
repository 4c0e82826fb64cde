/* SPDX-License-Identifier: Apache-2.0
 *
 * The control socket: one msgpack request, one reply, in order, as long as the caller likes. Who
 * may ask is the socket's file mode; who may change what, change.h. A caller that sends what is no
 * request is told why and closed. While the worker's answer is awaited nothing more is read.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/broker/broker.h"
#include "daemon/broker/control/change.h"
#include "daemon/broker/control/kernel_verbs.h"
#include "daemon/broker/control/report.h"
#include "proto/ctl_msg.h"

#define REQUEST_BYTES 4096 /* requests are small; replies are what needs CTL_MESSAGE_MAX */

struct control {
    struct list link; /* in the order in which they were last heard */
    struct server *server;
    struct user *user; /* counts it */
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
    users_leave(c->user, USERS_CONTROL);
    uv_close((uv_handle_t *)&c->poll, on_handle_closed);
    uv_close((uv_handle_t *)&c->idle, on_handle_closed);
    fdutil_close(&c->fd);
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

/* A silent connection is closed after a while, so that none can be hoarded. */
static void wait_for_request(struct control *c) {
    c->waiting = false;
    list_remove(&c->link);
    list_append(&c->server->controls, &c->link);
    uv_poll_start(&c->poll, UV_READABLE, on_readable);
    uv_timer_start(&c->idle, on_idle, c->server->config.control_idle / 1000000, 0);
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

    wait_for_request(c);
    if (out && result < 0)
        rc = ctl_msg_refusal(out, CTL_E_FAILED, text, "see 'salusctl status'", &reply, &n);
    else if (out)
        rc = report_answer(c->server, &c->request, c->uid, out, &reply, &n);
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
    case CTL_V_GPU_RETRY:
    case CTL_V_POLICY_SET: return true;
    default: return false;
    }
}

/* A request in work, with its reply. */
struct answer {
    struct ctl_out *out;
    const void *bytes;
    size_t n;
    int fd; /* that goes along, ours; -1: none */
};

static int answer_kernels(struct control *c, const struct ctl_request *r, int in_fd,
                          struct answer *a) {
    struct kernel_asking q = {.s = c->server,
                              .r = r,
                              .uid = c->uid,
                              .in_fd = in_fd,
                              .out = a->out,
                              .bytes = &a->bytes,
                              .n = &a->n};
    int rc = kernel_verbs_answer(&q);

    a->fd = q.out_fd;
    return rc;
}

/* 0: the reply is there; 1: it comes later; -errno. */
static int answer_verb(struct control *c, const struct ctl_request *r, int in_fd,
                       struct answer *a) {
    int rc;

    if (kernel_verbs_has(r->verb)) return answer_kernels(c, r, in_fd, a);
    if (!changes(r->verb)) return report_answer(c->server, r, c->uid, a->out, &a->bytes, &a->n);
    rc = change_start(c->server, r, c->uid, c, a->out, &a->bytes, &a->n);
    if (rc > 0) wait_for_worker(c, r);
    return rc;
}

/* Answers one request: 0, or negative when the connection is of no more use. */
static int answer(struct control *c, const void *request, size_t bytes, int in_fd) {
    struct answer a = {.out = ctl_msg_create(), .fd = -1};
    struct ctl_request r;
    enum ctl_error error;
    char why[CTL_MSG_WHY_BYTES];
    int rc, bad;

    if (!a.out) return -ENOMEM;
    bad = ctl_msg_request_decode(request, bytes, &r, &error, why, sizeof(why));
    if (bad == 0 && in_fd >= 0 && r.verb != CTL_V_PROFILE_IMPORT) {
        snprintf(why, sizeof(why), "verb '%s' takes no descriptor", ctl_verb_info(r.verb)->text);
        bad = -EPROTO;
    }
    if (bad == 0 && in_fd == -EMFILE) {
        rc = ctl_msg_refusal(a.out, CTL_E_FAILED, SERVER_SCARCE_TEXT, "try again", &a.bytes, &a.n);
    } else if (bad < 0) {
        log_warn("control", "event=refused why=\"%s\"", why);
        rc = ctl_msg_refusal(a.out, error, why, "see salusctl(1)", &a.bytes, &a.n);
    } else {
        rc = answer_verb(c, &r, in_fd, &a);
    }
    if (rc == 0) rc = fdutil_send(c->fd, a.bytes, a.n, &a.fd, a.fd >= 0);
    fdutil_close(&a.fd);
    ctl_msg_destroy(a.out);
    return rc < 0 ? rc : bad;
}

static void on_readable(uv_poll_t *p, int status, int events) {
    struct control *c = p->data;
    unsigned char buf[REQUEST_BYTES];
    int fd = -1, nfds = 1, rc = -EPROTO;
    int n = fdutil_recv(c->fd, buf, sizeof(buf), &fd, &nfds);

    if (n == -EAGAIN && status == 0) return;
    if (n == -EPROTO)
        log_warn("control", "event=closed why=\"request above %d bytes, or with descriptors\"",
                 REQUEST_BYTES);
    if (n > 0) rc = answer(c, buf, (size_t)n, nfds == 1 ? fd : nfds == FDUTIL_LOST ? -EMFILE : -1);
    if (n > 0 && nfds == 1) fdutil_close(&fd);
    if (rc < 0)
        control_close(c);
    else if (!c->waiting)
        wait_for_request(c);
}

void control_turn_away(int fd, enum ctl_error error, const char *text, const char *hint) {
    struct ctl_out *out = ctl_msg_create();
    const void *reply;
    size_t n;

    if (out && ctl_msg_refusal(out, error, text, hint, &reply, &n) == 0)
        fdutil_send(fd, reply, n, NULL, 0);
    ctl_msg_destroy(out);
    fdutil_close(&fd);
}

/* Of all connections the one that was silent for longest makes room. */
static void close_oldest(struct server *s) {
    struct list *pos;

    list_each(pos, &s->controls) {
        struct control *c = list_entry(pos, struct control, link);

        if (c->waiting) continue;
        control_close(c);
        return;
    }
}

void control_accept(struct server *s, int fd) {
    struct control *c = calloc(1, sizeof(*c));
    struct ucred cred = {.uid = (uid_t)-1};
    socklen_t n = sizeof(cred);
    char why[USERS_WHY_BYTES];
    struct user *user = NULL;

    if (!c || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) < 0)
        snprintf(why, sizeof(why), "salusd has no memory for another connection");
    else
        user = users_enter(s, fd, &cred, USERS_CONTROL, why);
    if (user && uv_poll_init(&s->loop, &c->poll, fd) < 0) {
        snprintf(why, sizeof(why), "salusd cannot watch another connection");
        users_leave(user, USERS_CONTROL);
        user = NULL;
    }
    if (!user) {
        free(c);
        control_turn_away(fd, CTL_E_FAILED, why, "see 'salusctl tenant list'");
        return;
    }
    c->server = s;
    c->fd = fd;
    c->uid = cred.uid;
    c->user = user;
    c->handles = 2;
    c->poll.data = c->idle.data = c;
    if (s->control_count >= BROKER_CONTROLS_MAX) close_oldest(s);
    list_append(&s->controls, &c->link);
    s->control_count++;
    uv_timer_init(&s->loop, &c->idle);
    wait_for_request(c);
}

void control_end_all(struct server *s) {
    while (!list_empty(&s->controls))
        control_close(list_entry(s->controls.next, struct control, link));
}
