/* SPDX-License-Identifier: Apache-2.0
 *
 * A client from connect to its end: hello, windows offered until both sides can use them, welcome.
 * After that its socket carries nothing; its end, or the process's, ends the job. Every refusal
 * says why in words, and a client that breaks the protocol ends alone.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"
#include "common/units.h"
#include "daemon/broker/broker.h"
#include "daemon/broker/clients/hello.h"
#include "daemon/broker/clients/pages.h"
#include "daemon/broker/control/history.h"
#include "daemon/broker/store/profile_store.h"
#include "proto/gen/calls.h"

#define NS_PER_MS 1000000u

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

static void on_handle_closed(uv_handle_t *h) {
    struct client *c = h->data;

    if (--c->handles == 0) free(c);
}

/* Lets go of everything; `c` is freed once libuv has let go of its handles. */
static void client_close(struct client *c) {
    struct server *s = c->server;

    if (c->state == CLIENT_RUNNING) s->running_count--;
    users_leave(c->user, c->state == CLIENT_RUNNING ? USERS_JOB : USERS_HANDSHAKE);
    c->state = CLIENT_CLOSED;
    list_remove(&c->link);
    s->client_count--;
    if (c->attachment) supervise_detach(s, c->attachment);
    c->attachment = NULL;
    uv_close((uv_handle_t *)&c->readable, on_handle_closed);
    uv_close((uv_handle_t *)&c->deadline, on_handle_closed);
    if (c->pidfd >= 0) uv_close((uv_handle_t *)&c->death, on_handle_closed);
    fdutil_close(&c->fd); /* at once: the peer must not wait for our loop */
    fdutil_close(&c->pidfd);
    pages_finish(c);
}

static struct wire_offer refusal(int result) {
    return (struct wire_offer){.magic = WIRE_MAGIC,
                               .major = WIRE_MAJOR,
                               .minor = WIRE_MINOR,
                               .spec_hash = CALL_SPEC_HASH,
                               .result = result};
}

void client_turn_away(int fd, int result, const char *text) {
    struct wire_offer offer = refusal(result);

    snprintf(offer.text, sizeof(offer.text), "%s", text);
    fdutil_send(fd, &offer, sizeof(offer), NULL, 0);
    fdutil_close(&fd);
}

/* Says why, in the message that the client waits for: a welcome once windows were offered, else an
 * offer. Nothing can be done about a client that is already gone. */
__attribute__((format(printf, 3, 4))) static void refuse(struct client *c, int result,
                                                         const char *fmt, ...) {
    struct wire_offer offer = refusal(result);
    struct wire_welcome welcome = {.magic = WIRE_MAGIC, .result = result};
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(offer.text, sizeof(offer.text), fmt, ap);
    va_end(ap);
    memcpy(welcome.text, offer.text, sizeof(welcome.text));
    log_write("client", c->server->stopping ? LOG_INFO : LOG_WARN,
              "event=refused pid=%d uid=%u name=\"%s\" error=%s why=\"%s\"", (int)c->pid,
              (unsigned)c->uid, c->name, err_name(result), offer.text);
    if (c->state == CLIENT_OFFERED)
        fdutil_send(c->fd, &welcome, sizeof(welcome), NULL, 0);
    else
        fdutil_send(c->fd, &offer, sizeof(offer), NULL, 0);
    client_close(c);
}

/* ---- deadlines ------------------------------------------------------------------------------- */

static void set_deadline(struct client *c, uint64_t ns);

static void on_deadline(uv_timer_t *t) {
    struct client *c = t->data;
    struct server *s = c->server;
    unsigned long long ms = s->config.handshake_timeout / NS_PER_MS;
    char byte;

    /* Timers run before sockets are looked at; if it was we who were late, its message is there. */
    if (recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0) {
        set_deadline(c, s->config.handshake_timeout);
        return;
    }
    switch (c->state) {
    case CLIENT_HELLO: refuse(c, -ETIMEDOUT, "no hello came within %llu ms", ms); break;
    case CLIENT_OFFERED:
        refuse(c, -ETIMEDOUT, "no answer to the offered windows came within %llu ms", ms);
        break;
    case CLIENT_WAITING:
    case CLIENT_ATTACHING:
        refuse(c, ERR_WORKER_LOST, "the GPU worker is not running: %.180s",
               *s->supervise.trouble ? s->supervise.trouble : "it does not answer");
        break;
    case CLIENT_RUNNING:
    case CLIENT_CLOSED: break;
    }
}

static void set_deadline(struct client *c, uint64_t ns) {
    uv_timer_start(&c->deadline, on_deadline, (ns + NS_PER_MS - 1) / NS_PER_MS, 0);
}

/* The newcomer's refusal, and nobody else's loss. */
static void refuse_scarce(struct client *c, int err) {
    if (err == -ENOMEM || err == -ENOBUFS)
        refuse(c, err, "salusd has no memory for another job");
    else
        refuse(c, err, SERVER_SCARCE_TEXT);
}

/* ---- attaching ------------------------------------------------------------------------------- */

/* Other jobs have them, or (tries > 0) something of the client or of the worker lies there. */
static void refuse_windows(struct client *c) {
    if (c->tries == 0)
        refuse(c, -EBUSY,
               "all %d address windows belong to jobs, some of which may be ending; try again when "
               "one has ended",
               c->server->slots.count);
    else
        refuse(c, -EADDRNOTAVAIL,
               "%d address windows were tried, and each is in use in the client "
               "or in the worker; set window_base to where both are empty",
               c->tries);
}

static void try_next_slot(struct client *c, int from) {
    struct server *s = c->server;
    int slot = c->tries < BROKER_TRIES ? slots_take(&s->slots, from) : -1, rc;

    if (slot < 0) {
        refuse_windows(c);
        return;
    }
    c->tries++;
    c->state = CLIENT_ATTACHING;
    set_deadline(c, s->config.worker_timeout);
    rc = supervise_attach(c, slot);
    if (rc < 0) {
        slots_put(&s->slots, slot);
        c->state = CLIENT_WAITING; /* the worker is being ended; the next one will be asked */
        if (fdutil_scarce(rc)) refuse_scarce(c, rc);
        return;
    }
    c->job_id = c->attachment->job_id;
}

/* What it asked for, and where it said nothing, what we know or are told to take. */
static void complete_job(struct client *c) {
    struct server *s = c->server;
    struct wire_job *job = &c->job;

    *job = c->asked;
    c->word = job->flags & WIRE_JOB_WORD ? "given" : "";
    if (job->weight == 0) job->weight = 1;
    if (job->admit_timeout_ns == 0) job->admit_timeout_ns = s->config.admit_timeout;
    if (profile_store_fill(s, c->uid, job)) c->word = "profile";
    if ((job->flags & WIRE_JOB_WORD) || s->config.unknown_memory == 0) return;
    job->flags |= WIRE_JOB_WORD;
    job->persistent_bytes = s->config.unknown_memory;
    if (job->persistent_bytes > s->supervise.device.memory_bytes)
        job->persistent_bytes = s->supervise.device.memory_bytes;
    c->word = "assumed";
}

/* "A job is admitted only when it could run alone": this one never could. */
static bool refuse_too_large(struct client *c) {
    const struct wire_job *job = &c->job;
    uint64_t device = c->server->supervise.device.memory_bytes;
    char p[24], e[24], d[24], text[160];

    if (job->persistent_bytes + job->ephemeral_bytes <= device) return false;
    units_print_bytes(job->persistent_bytes, p, sizeof(p));
    units_print_bytes(job->ephemeral_bytes, e, sizeof(e));
    units_print_bytes(device, d, sizeof(d));
    snprintf(text, sizeof(text), "%s persistent + %s ephemeral asked, the device has %s", p, e, d);
    history_add_refused(c->server->history, c, supervise_next_id(c->server), text);
    refuse(c, ERR_NO_MEMORY, "%s", text);
    return true;
}

static void refuse_failed(struct client *c) {
    refuse(c, ERR_WORKER_LOST, "the GPU worker was given up: %.200s", c->server->supervise.trouble);
}

/* Its shared memory, but of the last descriptors none. */
static int make_pages(struct client *c) {
    int rc = pages_create(c);

    if (rc < 0) return rc;
    if (!server_scarce(c->submission_fd, false) && !server_scarce(c->host_fd, false) &&
        !server_scarce(c->doorbell_fd, false))
        return 0;
    pages_finish(c);
    return -EMFILE;
}

struct wire_windows client_windows(const struct client *c, int slot) {
    struct wire_windows w = slots_windows(&c->server->slots, slot);

    w.host_bytes = c->host_bytes;
    return w;
}

/* Its user's jobs would have more of the device than they may: then it is refused. */
static bool refuse_device_memory(struct client *c) {
    char why[USERS_WHY_BYTES];

    if (users_check_device(c->server, c->user, &c->job, why) == 0) return false;
    history_add_refused(c->server->history, c, supervise_next_id(c->server), why);
    refuse(c, ERR_NO_MEMORY, "%s", why);
    return true;
}

static void begin(struct client *c) {
    struct server *s = c->server;
    int rc;

    if (s->supervise.state == SUPERVISE_FAILED) {
        refuse_failed(c);
        return;
    }
    if (s->supervise.state != SUPERVISE_READY) {
        c->state = CLIENT_WAITING;
        set_deadline(c, s->config.worker_timeout);
        return;
    }
    complete_job(c);
    if (refuse_too_large(c) || refuse_device_memory(c)) return;
    rc = c->submission ? 0 : make_pages(c);
    if (fdutil_scarce(rc))
        refuse_scarce(c, rc);
    else if (rc < 0)
        refuse(c, rc, "shared memory cannot be made: %s", err_text(rc));
    else
        try_next_slot(c, 0);
}

static void offer(struct client *c, const struct wire_worker_msg *msg, int completion_fd) {
    struct wire_offer o = {.magic = WIRE_MAGIC,
                           .major = WIRE_MAJOR,
                           .minor = WIRE_MINOR,
                           .job_id = c->attachment->job_id,
                           .spec_hash = CALL_SPEC_HASH,
                           .windows = client_windows(c, c->attachment->slot),
                           .device = c->server->supervise.device};
    int rc, fds[WIRE_FD_COUNT] = {[WIRE_FD_SUBMISSION] = c->submission_fd,
                                  [WIRE_FD_COMPLETION] = completion_fd,
                                  [WIRE_FD_HOST] = c->host_fd,
                                  [WIRE_FD_DOORBELL] = c->doorbell_fd};

    if (msg->device.memory_bytes) o.device = msg->device; /* the worker may show each job its own */
    c->state = CLIENT_OFFERED;
    set_deadline(c, c->server->config.handshake_timeout);
    rc = fdutil_send(c->fd, &o, sizeof(o), fds, WIRE_FD_COUNT);
    if (rc == 0) return;
    c->state = CLIENT_ATTACHING; /* so that a refusal is an offer's */
    if (fdutil_scarce(rc))
        refuse_scarce(c, rc);
    else
        client_close(c);
}

void client_attached(struct client *c, const struct wire_worker_msg *msg, int completion_fd) {
    struct server *s = c->server;
    int slot = c->attachment->slot, rc = msg->result;

    if (rc == -EEXIST) {
        slots_block(&s->slots, slot);
        supervise_detach(s, c->attachment);
        c->attachment = NULL;
        try_next_slot(c, slot + 1);
    } else if (rc < 0) {
        refuse(c, rc, "the GPU worker refused: %.200s", *msg->text ? msg->text : err_text(rc));
    } else if (fdutil_scarce(rc = pages_see_completion(c->attachment, completion_fd))) {
        refuse_scarce(c, rc);
    } else if (rc < 0) {
        refuse(c, ERR_PROTOCOL, "the GPU worker sent completion memory that cannot be used: %s",
               err_text(rc));
    } else {
        offer(c, msg, completion_fd);
    }
    fdutil_close(&completion_fd);
}

static void welcome(struct client *c) {
    struct wire_welcome w = {.magic = WIRE_MAGIC};

    uv_timer_stop(&c->deadline);
    pages_close_fds(c);
    c->state = CLIENT_RUNNING;
    c->server->running_count++;
    users_move(c->user, USERS_HANDSHAKE, USERS_JOB);
    c->attachment->welcomed = true;
    log_info("client", "event=attached job=%u pid=%d uid=%u name=\"%s\" slot=%d tries=%d",
             c->job_id, (int)c->pid, (unsigned)c->uid, c->name, c->attachment->slot, c->tries);
    if (fdutil_send(c->fd, &w, sizeof(w), NULL, 0) < 0) client_close(c);
}

/* ---- what the client says -------------------------------------------------------------------- */

static void refuse_full(struct client *c) {
    refuse(c, -EBUSY, "%u jobs are attached, the most that max_jobs allows",
           c->server->running_count);
}

/* Whether its user may not have this job; then it is refused. */
static bool refuse_excess(struct client *c) {
    char why[USERS_WHY_BYTES];
    int rc = users_check_job(c->user, &c->asked, why);

    if (rc == 0) return false;
    history_add_refused(c->server->history, c, supervise_next_id(c->server), why);
    refuse(c, rc, "%s", why);
    return true;
}

static bool full(const struct client *c) {
    return c->server->running_count >= c->server->config.max_jobs;
}

static void on_hello(struct client *c, const void *msg, size_t bytes) {
    char why[HELLO_WHY_BYTES];
    struct hello h;
    int rc = hello_check(msg, bytes, &h, why, sizeof(why));

    if (rc < 0) {
        refuse(c, rc, "%s", why);
        return;
    }
    memcpy(c->name, h.name, sizeof(c->name));
    c->asked = h.job;
    if (h.spec_hash != CALL_SPEC_HASH)
        log_info("client", "event=spec-differs pid=%d theirs=%016llx ours=%016llx", (int)c->pid,
                 (unsigned long long)h.spec_hash, (unsigned long long)CALL_SPEC_HASH);
    if (refuse_excess(c)) return;
    if (full(c))
        refuse_full(c);
    else
        begin(c);
}

static void on_answer(struct client *c, const void *msg, size_t bytes) {
    char why[HELLO_WHY_BYTES];
    int slot = c->attachment->slot;
    bool accepted;
    int rc = hello_check_answer(msg, bytes, &accepted, why, sizeof(why));

    if (rc < 0) {
        refuse(c, rc, "%s", why);
    } else if (!accepted) {
        supervise_detach(c->server, c->attachment);
        c->attachment = NULL;
        c->state = CLIENT_ATTACHING; /* it waits for an offer again, or for a refusal as one */
        try_next_slot(c, slot + 1);
    } else if (full(c)) {
        refuse_full(c);
    } else if (!refuse_excess(c)) {
        welcome(c);
    }
}

/* For the history; what comes first counts. */
__attribute__((format(printf, 3, 4))) static void say_how(struct client *c, const char *how,
                                                          const char *fmt, ...) {
    struct attachment *a = c->attachment;
    va_list ap;

    if (a->how) return;
    a->how = how;
    va_start(ap, fmt);
    vsnprintf(a->why, sizeof(a->why), fmt, ap);
    va_end(ap);
}

static void ended(struct client *c, const char *how) {
    /* One that said nothing only looked whether we are here. */
    log_write("client", c->state == CLIENT_HELLO ? LOG_DEBUG : LOG_INFO,
              "event=ended job=%u pid=%d name=\"%s\" how=\"%s\"", c->job_id, (int)c->pid, c->name,
              how);
    client_close(c);
}

static void on_readable(uv_poll_t *p, int status, int events) {
    struct client *c = p->data;
    unsigned char buf[sizeof(struct wire_hello) + 64];
    int n = fdutil_recv(c->fd, buf, sizeof(buf), NULL, NULL);

    if (n == -EAGAIN && status == 0) return;
    if (n == -EPROTO) {
        refuse(c, ERR_PROTOCOL, "a message is too long or carries descriptors");
    } else if (n <= 0) {
        ended(c, "socket closed");
    } else if (c->state == CLIENT_HELLO) {
        on_hello(c, buf, (size_t)n);
    } else if (c->state == CLIENT_OFFERED) {
        on_answer(c, buf, (size_t)n);
    } else if (c->state == CLIENT_RUNNING) {
        say_how(c, "expelled", "it spoke after its welcome");
        pages_lose(c, ERR_PROTOCOL);
        ended(c, "protocol error: it spoke after its welcome");
    } else {
        refuse(c, ERR_PROTOCOL, "a message came while none is expected");
    }
}

static void on_death(uv_poll_t *p, int status, int events) {
    ended(p->data, "process ended");
}

/* ---- beginning and end ----------------------------------------------------------------------- */

/* A descriptor of the peer's process. SO_PEERPIDFD names the process that connected, whatever
 * became of its number since; older kernels must go by the number. */
static int open_pidfd(int fd, pid_t pid) {
    int pidfd = -1;
    socklen_t n = sizeof(pidfd);

    errno = 0;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &n) == 0) return pidfd;
    return pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

/* Its handles; where one cannot be had the others are closed with the client. */
static int watch_client(struct client *c) {
    struct server *s = c->server;
    int rc = uv_poll_init(&s->loop, &c->readable, c->fd);

    if (rc < 0) return rc;
    uv_timer_init(&s->loop, &c->deadline);
    c->handles = 2;
    c->readable.data = c->deadline.data = c->death.data = c;
    c->pidfd = open_pidfd(c->fd, c->pid);
    if (c->pidfd < 0) return fdutil_scarce(-errno) ? -errno : 0;
    rc = uv_poll_init(&s->loop, &c->death, c->pidfd);
    if (rc < 0) {
        fdutil_close(&c->pidfd);
        return rc;
    }
    c->handles = 3;
    uv_poll_start(&c->death, UV_READABLE, on_death);
    return 0;
}

static struct client *make_client(struct server *s, int fd, const struct ucred *cred) {
    struct client *c = calloc(1, sizeof(*c));

    if (!c) return NULL;
    *c = (struct client){.server = s,
                         .fd = fd,
                         .pidfd = -1,
                         .pid = cred->pid,
                         .uid = cred->uid,
                         .name = "?",
                         .host_fd = -1,
                         .submission_fd = -1,
                         .doorbell_fd = -1};
    clock_gettime(CLOCK_REALTIME, &c->since);
    return c;
}

void client_accept(struct server *s, int fd) {
    struct ucred cred = {.uid = (uid_t)-1};
    socklen_t n = sizeof(cred);
    int rc = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) < 0 ? -errno : 0;
    char why[USERS_WHY_BYTES];
    struct user *user = users_enter(s, fd, &cred, USERS_HANDSHAKE, why);
    struct client *c = user && rc == 0 ? make_client(s, fd, &cred) : NULL;

    if (c) rc = watch_client(c);
    if (!c || c->handles == 0) {
        free(c);
        if (user) users_leave(user, USERS_HANDSHAKE);
        client_turn_away(fd, user ? -ENOMEM : -EBUSY,
                         user ? "salusd has no memory for another job" : why);
        return;
    }
    c->user = user;
    c->host_bytes = users_host_window(s, user);
    list_append(&s->clients, &c->link);
    s->client_count++;
    if (rc < 0) {
        refuse_scarce(c, rc);
        return;
    }
    uv_poll_start(&c->readable, UV_READABLE, on_readable);
    set_deadline(c, s->config.handshake_timeout);
}

void client_worker_ready(struct server *s) {
    struct list *pos, *tmp;

    list_each_safe(pos, tmp, &s->clients) {
        struct client *c = list_entry(pos, struct client, link);

        if (c->state == CLIENT_WAITING) begin(c);
    }
}

void client_worker_failed(struct server *s) {
    struct list *pos, *tmp;

    list_each_safe(pos, tmp, &s->clients) {
        struct client *c = list_entry(pos, struct client, link);

        if (c->state == CLIENT_WAITING) refuse_failed(c);
    }
}

void client_worker_lost(struct client *c) {
    c->attachment = NULL; /* it went with the worker */
    if (c->state == CLIENT_ATTACHING) {
        c->state = CLIENT_WAITING; /* nothing was promised yet: the next worker takes it */
        set_deadline(c, c->server->config.worker_timeout);
        return;
    }
    if (c->state == CLIENT_OFFERED) {
        refuse(c, ERR_WORKER_LOST, "%s", err_text(ERR_WORKER_LOST));
        return;
    }
    pages_lose(c, ERR_WORKER_LOST);
    ended(c, "the GPU worker died");
}

void client_expelled(struct client *c, const struct wire_worker_msg *msg) {
    int err = msg->result < 0 ? msg->result : ERR_PROTOCOL;

    log_warn("client", "event=expelled job=%u pid=%d uid=%u name=\"%s\" error=%s why=\"%.200s\"",
             c->job_id, (int)c->pid, (unsigned)c->uid, c->name, err_name(err), msg->text);
    if (c->state == CLIENT_OFFERED) {
        refuse(c, err, "%.250s", msg->text);
        return;
    }
    say_how(c, "expelled", "%.250s", msg->text);
    pages_lose(c, err);
    client_close(c);
}

void client_end_excess(struct client *c, const char *why) {
    if (c->state != CLIENT_RUNNING) {
        refuse(c, ERR_NO_MEMORY, "%s", why);
        return;
    }
    say_how(c, "expelled", "%s", why);
    pages_lose(c, ERR_NO_MEMORY);
    ended(c, why);
}

void client_kill(struct client *c, uid_t uid) {
    if (c->state != CLIENT_RUNNING) {
        refuse(c, ERR_ENDED, "%s", err_text(ERR_ENDED));
        return;
    }
    say_how(c, "killed", "by user %u", (unsigned)uid);
    pages_lose(c, ERR_ENDED);
    ended(c, "killed by an operator");
}

void client_end_all(struct server *s) {
    struct list *pos, *tmp;

    list_each_safe(pos, tmp, &s->clients) {
        struct client *c = list_entry(pos, struct client, link);

        if (c->state == CLIENT_RUNNING) {
            say_how(c, "lost", "salusd was stopped");
            pages_lose(c, ERR_BROKER_LOST);
            ended(c, "salusd stops");
        } else {
            refuse(c, ERR_BROKER_LOST, "salusd is being stopped");
        }
    }
}
