/* SPDX-License-Identifier: Apache-2.0
 *
 * The control socket: one msgpack request, one reply, in order, any number of times. The socket's
 * file mode decides who may ask, each verb who may change what. A caller that sends an invalid
 * request is told why and disconnected. While the worker's answer is pending, no further request is
 * read.
 */
#include "daemon/broker/control/control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/broker/control/verb.h"
#include "daemon/broker/expiry.h"
#include "daemon/broker/fd_reserve.h"

#define CONTROLS_MAX 256
#define REQUEST_BYTES 4096 /* requests are small; only replies need CTL_MESSAGE_MAX */

struct control {
    struct list link; /* in `all`, in the order of the latest requests */
    struct controls *all;
    struct user *user; /* counts this connection */
    int fd, handles;
    uid_t uid; /* from SO_PEERCRED */
    uv_poll_t poll;
    struct expiry idle;
    bool waiting; /* the worker's answer to `request` is pending */
    struct ctl_request request;
};

static void on_readable(uv_poll_t *p, int status, int events);

static void on_handle_closed(uv_handle_t *h) {
    struct control *c = h->data;

    if (--c->handles == 0) free(c);
}

static void close_listener(struct control *c) {
    struct controls *all = c->all;

    if (c->waiting) gpus_forget(&all->broker->gpus, c);
    list_remove(&c->link);
    all->count--;
    users_leave(c->user, USERS_CONTROL);
    uv_close((uv_handle_t *)&c->poll, on_handle_closed);
    uv_close((uv_handle_t *)&c->idle.timer, on_handle_closed);
    fdutil_close(&c->fd);
}

static void on_idle(uv_timer_t *t) {
    struct control *c = t->data;

    if (!c->waiting) {
        close_listener(c);
        return;
    }
    gpus_forget(&c->all->broker->gpus, c);
    control_done(c, -ETIMEDOUT,
                 "the GPU worker did not answer in time; the change may still take effect");
}

/* Waits for the next request. A silent connection is closed after a while, so that none can be
 * hoarded. */
static void wait_for_request(struct control *c) {
    c->waiting = false;
    list_remove(&c->link);
    list_append(&c->all->list, &c->link);
    uv_poll_start(&c->poll, UV_READABLE, on_readable);
    expiry_start(&c->idle, c->all->broker->config.control_idle);
}

/* Waits for the worker's answer, for at most half of worker_timeout; then on_idle refuses the
 * request. */
static void wait_for_worker(struct control *c, const struct ctl_request *r) {
    c->waiting = true;
    c->request = *r;
    uv_poll_stop(&c->poll);
    expiry_start(&c->idle, c->all->broker->config.worker_timeout / 2);
}

static struct control_request request_of(struct control *c, const struct ctl_request *r,
                                         struct ctl_out *out) {
    return (struct control_request){.broker = c->all->broker,
                                    .request = r,
                                    .uid = c->uid,
                                    .requester = c,
                                    .in_fd = -1,
                                    .out_fd = -1,
                                    .out = out};
}

void control_done(struct control *c, int result, const char *text) {
    struct control_request q = request_of(c, &c->request, ctl_msg_create());
    int err = -ENOMEM;

    wait_for_request(c);
    if (q.out && result < 0)
        err = control_request_refuse(&q, CTL_E_FAILED, text, "see 'salusctl status'");
    else if (q.out)
        err = verb_outcome(&q);
    if (err == 0) err = fdutil_send(c->fd, q.bytes, q.n, NULL, 0);
    ctl_msg_destroy(q.out);
    if (err < 0) close_listener(c);
}

/* Returns 0: the reply is ready; 1: it comes later; -errno. */
static int answer_verb(struct control *c, struct control_request *q) {
    int err = verb_answer(q);

    if (err > 0) wait_for_worker(c, q->request);
    return err;
}

/* Answers one request. Returns 0, or a negative value when the connection is no longer usable. */
static int answer(struct control *c, const void *request, size_t bytes, int in_fd) {
    struct ctl_request r;
    struct control_request q = request_of(c, &r, ctl_msg_create());
    enum ctl_error error;
    char why[CTL_MSG_WHY_BYTES];
    int err, bad;

    if (!q.out) return -ENOMEM;
    q.in_fd = in_fd;
    bad = ctl_msg_request_decode(request, bytes, &r, &error, why, sizeof(why));
    if (bad == 0 && in_fd >= 0 && r.verb != CTL_V_profile_import && r.verb != CTL_V_events_record) {
        snprintf(why, sizeof(why), "verb '%s' takes no descriptor", ctl_verb_info(r.verb)->text);
        bad = -EPROTO;
    }
    if (bad == 0 && in_fd == -EMFILE) {
        err = control_request_refuse(&q, CTL_E_FAILED, FD_RESERVE_TEXT, "try again");
    } else if (bad < 0) {
        log_warn("control", "event=refused why=\"%s\"", why);
        err = control_request_refuse(&q, error, why, "see salusctl(1)");
    } else {
        err = answer_verb(c, &q);
    }
    if (err == 0) err = fdutil_send(c->fd, q.bytes, q.n, &q.out_fd, q.out_fd >= 0);
    fdutil_close(&q.out_fd);
    ctl_msg_destroy(q.out);
    return err < 0 ? err : bad;
}

static void on_readable(uv_poll_t *p, int status, int events) {
    struct control *c = p->data;
    unsigned char buf[REQUEST_BYTES];
    int fd = -1, nfds = 1, err = -EPROTO;
    int n = fdutil_recv(c->fd, buf, sizeof(buf), &fd, &nfds);

    if (n == -EAGAIN && status == 0) return;
    if (n == -EPROTO)
        log_warn("control",
                 "event=closed why=\"the request exceeds %d bytes or carries descriptors\"",
                 REQUEST_BYTES);
    if (n > 0) err = answer(c, buf, (size_t)n, nfds == 1 ? fd : nfds == FDUTIL_LOST ? -EMFILE : -1);
    if (n > 0 && nfds == 1) fdutil_close(&fd);
    if (err < 0)
        close_listener(c);
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

/* Closes the connection that has been silent for longest. */
static void close_oldest(struct controls *all) {
    struct list *pos;

    list_each(pos, &all->list) {
        struct control *c = list_entry(pos, struct control, link);

        if (c->waiting) continue;
        close_listener(c);
        return;
    }
}

void control_accept(struct controls *all, int fd) {
    struct control *c = calloc(1, sizeof(*c));
    struct ucred cred = {.uid = (uid_t)-1};
    socklen_t n = sizeof(cred);
    char why[USERS_WHY_BYTES];
    enum ctl_error error = CTL_E_FAILED;
    struct user *user = NULL;

    if (!c || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) < 0)
        snprintf(why, sizeof(why), "salusd is out of memory for another connection; try again");
    else
        user = users_enter(&all->broker->users, fd, &cred, USERS_CONTROL, why);
    if (c && !user) error = CTL_E_REFUSED;
    if (user && uv_poll_init(all->broker->loop, &c->poll, fd) < 0) {
        snprintf(why, sizeof(why), "salusd cannot poll another connection");
        users_leave(user, USERS_CONTROL);
        user = NULL;
    }
    if (!user) {
        free(c);
        control_turn_away(fd, error, why, "see 'salusctl user list'");
        return;
    }
    c->all = all;
    c->fd = fd;
    c->uid = cred.uid;
    c->user = user;
    c->handles = 2;
    c->poll.data = c;
    if (all->count >= CONTROLS_MAX) close_oldest(all);
    list_append(&all->list, &c->link);
    all->count++;
    expiry_init(&c->idle, all->broker->loop, c, on_idle);
    wait_for_request(c);
}

void control_stop(struct controls *all) {
    while (!list_empty(&all->list))
        close_listener(list_entry(all->list.next, struct control, link));
}
