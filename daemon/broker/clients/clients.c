/* SPDX-License-Identifier: Apache-2.0
 *
 * A client ends with its socket or its process, whichever is noticed first. A client that breaks
 * the protocol ends alone.
 */
#include "daemon/broker/clients/clients.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/broker/clients/deadline.h"
#include "daemon/broker/clients/disconnect.h"
#include "daemon/broker/clients/fd_forward.h"
#include "daemon/broker/clients/handshake.h"
#include "daemon/broker/clients/hello.h"
#include "daemon/broker/clients/job_claims.h"
#include "daemon/broker/clients/question.h"
#include "daemon/broker/clients/refuse.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

/* ---- messages -------------------------------------------------------------------------------- */

_Static_assert(sizeof(struct wire_command) < sizeof(struct wire_hello) + 64, "any message fits");

static void on_readable(uv_poll_t *p, int status, int events) {
    struct client *c = p->data;
    bool running = c->state == CLIENT_RUNNING;
    unsigned char buf[sizeof(struct wire_hello) + 64];
    int fd = -1, nfds = running ? 1 : 0, n;

    if (c->lending || c->held) { /* only its end is awaited */
        client_ended(c, "the client closed its socket");
        return;
    }
    n = fdutil_recv(c->fd, buf, sizeof(buf), &fd, &nfds);
    if (n == -EAGAIN && status == 0) return;
    if (n == -EPROTO)
        refuse_client(c, ERR_PROTOCOL,
                      "the client sent a message that is too long or carries descriptors");
    else if (n <= 0)
        client_ended(c, "the client closed its socket");
    else if (c->state == CLIENT_HELLO && hello_asks(buf, (size_t)n))
        question_take(c, buf, (size_t)n);
    else if (c->state == CLIENT_HELLO && hello_tells_exit(buf, (size_t)n))
        job_claims_exit(c, buf, (size_t)n);
    else if (c->state == CLIENT_HELLO)
        handshake_hello(c, buf, (size_t)n);
    else if (c->state == CLIENT_OFFERED)
        handshake_answer(c, buf, (size_t)n);
    else if (running && hello_is_command(buf, (size_t)n) && fd < 0)
        job_claims_command(c, buf, (size_t)n);
    else if (running)
        fd_forward_take(c, buf, (size_t)n, nfds == FDUTIL_LOST ? -EMFILE : fd);
    else
        refuse_client(c, ERR_PROTOCOL, "the client sent a message while salusd expected none");
}

static void on_death(uv_poll_t *p, int status, int events) {
    client_ended(p->data, "the client's process ended");
}

/* ---- new connections ------------------------------------------------------------------------- */

/* Opens a descriptor of the peer's process. SO_PEERPIDFD refers to the process that connected, even
 * if its number was reused; older kernels only provide the number. */
static int open_pidfd(int fd, pid_t pid) {
    int pidfd = -1;
    socklen_t n = sizeof(pidfd);

    errno = 0;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &n) == 0) return pidfd;
    return pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

/* Initialises its handles; if one fails, the others are closed with the client. */
static int watch_client(struct client *c) {
    uv_loop_t *loop = c->clients->loop;
    int err = uv_poll_init(loop, &c->readable, c->fd);

    if (err < 0) return err;
    deadline_init(c, loop);
    c->handles = 2;
    c->readable.data = c->death.data = c;
    c->pidfd = open_pidfd(c->fd, c->job.pid);
    if (c->pidfd < 0) return fdutil_scarce(-errno) ? -errno : 0;
    err = uv_poll_init(loop, &c->death, c->pidfd);
    if (err < 0) {
        fdutil_close(&c->pidfd);
        return err;
    }
    c->handles = 3;
    uv_poll_start(&c->death, UV_READABLE, on_death);
    return 0;
}

static struct client *make_client(struct clients *clients, int fd, const struct ucred *cred) {
    struct client *c = calloc(1, sizeof(*c));

    if (!c) return NULL;
    *c = (struct client){.clients = clients,
                         .fd = fd,
                         .pidfd = -1,
                         .job = {.pid = cred->pid, .uid = cred->uid, .name = "?", .gpu = -1}};
    pages_init(&c->pages);
    clock_gettime(CLOCK_REALTIME, &c->job.since);
    return c;
}

void clients_accept(struct clients *clients, int fd) {
    struct ucred cred = {.uid = (uid_t)-1};
    socklen_t n = sizeof(cred);
    int err = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) < 0 ? -errno : 0;
    char why[USERS_WHY_BYTES];
    struct user *user = users_enter(clients->users, fd, &cred, USERS_HANDSHAKE, why);
    struct client *c = user && err == 0 ? make_client(clients, fd, &cred) : NULL;

    if (c) err = watch_client(c);
    if (!c || c->handles == 0) {
        free(c);
        if (user) users_leave(user, USERS_HANDSHAKE);
        refuse_connection(fd, user ? -ENOMEM : -EBUSY,
                          user ? "salusd is out of memory for another job; end some jobs" : why);
        return;
    }
    c->user = user;
    c->host_bytes = users_host_window(clients->users, user);
    list_append(&clients->list, &c->link);
    clients->count++;
    if (err < 0) {
        refuse_scarce(c, err);
        return;
    }
    c->on_readable = on_readable;
    uv_poll_start(&c->readable, UV_READABLE, on_readable);
    deadline_set(c, clients->config->handshake_timeout);
}

/* ---- all clients ---------------------------------------------------------------------------- */

/* The GPU concerns the client. A client bound to another GPU keeps waiting. */
static bool concerns(const struct client *c, const struct gpu *g) {
    return c->gpu == g || c->asked_gpu == 0;
}

/* Lets waiting clients check again. */
static void look_again(struct clients *clients, const struct gpu *g) {
    struct list *pos, *tmp;

    list_each_safe(pos, tmp, &clients->list) {
        struct client *c = list_entry(pos, struct client, link);

        if (!concerns(c, g)) continue;
        if (c->state == CLIENT_WAITING)
            handshake_begin(c);
        else if (c->state == CLIENT_ASKING)
            question_answer(c);
    }
}

void clients_worker_ready(struct clients *clients, const struct gpu *g) {
    look_again(clients, g);
}

void clients_worker_failed(struct clients *clients, const struct gpu *g) {
    look_again(clients, g);
}

void clients_stop(struct clients *clients) {
    struct list *pos, *tmp;

    clients->stopping = true;
    list_each_safe(pos, tmp, &clients->list) disconnect_stop(list_entry(pos, struct client, link));
}
