/* SPDX-License-Identifier: Apache-2.0
 *
 * The socket to salus-serve, and the incoming batches.
 */
#include "daemon/serve/model/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/fdutil.h"
#include "daemon/serve/model/meter.h"
#include "shim/salus.h"

#define UNANSWERED "the model's program went on to the next batch without an answer to this one"

int connection_say(struct salus_serve *s, const char *fmt, ...) {
    va_list args;

    va_start(args, fmt);
    vsnprintf(s->error, sizeof(s->error), fmt, args);
    va_end(args);
    return -1;
}

const char *salus_serve_error(const struct salus_serve *s) {
    return s ? s->error : "out of memory";
}

int connection_check(struct salus_serve *s, int request) {
    if (!s) return -1;
    if (!s->number) return connection_say(s, "there is no batch: call salus_serve_next first");
    if (request >= 0 && (uint32_t)request < s->requests) return 0;
    return connection_say(s, "there is no request %d in a batch of %u", request, s->requests);
}

void connection_forget(struct salus_serve *s) {
    for (uint32_t i = 0; i < SERVE_WIRE_MAX_NAMES; i++) {
        free(s->joined[i]);
        s->joined[i] = NULL;
    }
    for (uint32_t i = 0; i < s->out_count; i++) {
        free((void *)s->out[i].name);
        free((void *)s->out[i].data);
    }
    s->out_count = 0;
    serve_memory_finish(&s->in);
    s->number = 0;
    s->requests = 0;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Closes the socket after salus-serve ended or sent an invalid message. */
static int end(struct salus_serve *s) {
    fdutil_close(&s->fd);
    return -1;
}

static int send_word(struct salus_serve *s, struct serve_wire_msg *m) {
    int err = serve_message_send(s->fd, m);

    if (!err) return 0;
    return connection_say(s, "cannot send to salus-serve: %s", strerror(-err));
}

/* Returns 1 for a message, 0 at the end of the stream, or -1. */
static int receive(struct salus_serve *s, int *fd) {
    const char *why;

    switch (serve_message_receive(s->fd, s->msg, fd, &why)) {
    case SERVE_MESSAGE_SOUND: return 1;
    case SERVE_MESSAGE_END: return 0;
    case SERVE_MESSAGE_NOTHING: return connection_say(s, "salus-serve sent no message");
    case SERVE_MESSAGE_SCARCE:
        return connection_say(s, "a batch is lost because this program has too many open files: "
                                 "close some, or raise 'ulimit -n'");
    case SERVE_MESSAGE_BAD: break;
    }
    return connection_say(s, "salus-serve sent %s (this library is of version %d)", why,
                          SERVE_WIRE_VERSION);
}

/* ---- opening --------------------------------------------------------------------------------- */

static int find_socket(struct salus_serve *s) {
    const char *text = getenv(SERVE_WIRE_ENVIRONMENT);
    char *rest;
    long fd;
    int type = 0;
    socklen_t bytes = sizeof(type);

    if (!text)
        return connection_say(s, SERVE_WIRE_ENVIRONMENT
                              " is not set: only salus-serve can start a model's program; name the "
                              "program in the configuration of salus-serve");
    errno = 0;
    fd = strtol(text, &rest, 10);
    if (errno || *rest || rest == text || fd < 0 || fd > INT32_MAX)
        return connection_say(s, SERVE_WIRE_ENVIRONMENT "=%.64s is not the number of a descriptor",
                              text);
    if (getsockopt((int)fd, SOL_SOCKET, SO_TYPE, &type, &bytes) < 0 || type != SOCK_SEQPACKET)
        return connection_say(s,
                              SERVE_WIRE_ENVIRONMENT
                              "=%ld is not a socket of salus-serve: the program closed it, or this "
                              "is a child of the program that salus-serve started",
                              fd);
    s->fd = (int)fd;
    fcntl(s->fd, F_SETFD, FD_CLOEXEC);
    return 0;
}

static int greet(struct salus_serve *s) {
    struct serve_wire_msg hello = {.kind = SERVE_WIRE_HELLO};
    int fd = -1, got = send_word(s, &hello);

    if (!got) got = receive(s, &fd);
    fdutil_close(&fd);
    if (got == 1 && s->msg->m.kind == SERVE_WIRE_HELLO) return 0;
    if (got == 0) connection_say(s, "salus-serve closed the connection before its first message");
    if (got == 1)
        connection_say(s, "salus-serve sent message %u first, instead of HELLO", s->msg->m.kind);
    return end(s);
}

struct salus_serve *salus_serve_open(void) {
    struct salus_serve *s = calloc(1, sizeof(*s));

    if (!s) return NULL;
    s->fd = -1;
    s->msg = serve_message_create();
    if (!s->msg) {
        free(s);
        return NULL;
    }
    if (!find_socket(s)) greet(s);
    return s;
}

void salus_serve_close(struct salus_serve *s) {
    if (!s) return;
    connection_forget(s);
    fdutil_close(&s->fd);
    free(s->out);
    free(s->msg);
    free(s);
}

/* ---- batches --------------------------------------------------------------------------------- */

static int take(struct salus_serve *s, int fd) {
    const struct serve_wire_msg *m = &s->msg->m;
    struct serve_memory_why why;
    int err;

    if (!m->number) return connection_say(s, "salus-serve sent a batch without a number");
    err = serve_message_open(&s->in, s->msg, fd, true, &why);
    if (!err && s->in.requests != m->requests) {
        serve_memory_finish(&s->in);
        return connection_say(
            s, "batch %" PRIu64 " has %u requests, but its memory has another number of them",
            m->number, m->requests);
    }
    if (err)
        return connection_say(s, "cannot use the memory of batch %" PRIu64 ": %s", m->number,
                              why.text);
    s->number = m->number;
    s->requests = m->requests;
    if (salus_iteration) salus_iteration();
    s->device_ns = meter_read();
    return 1;
}

int salus_serve_next(struct salus_serve *s) {
    int fd = -1, got;

    if (!s) return -1;
    if (s->over) return 0;
    if (s->fd < 0) return -1;
    if (s->number && salus_serve_failed(s, UNANSWERED)) return end(s);
    got = receive(s, &fd);
    if (got == 1 && s->msg->m.kind == SERVE_WIRE_BATCH)
        got = take(s, fd);
    else if (got == 1 && s->msg->m.kind == SERVE_WIRE_STOP)
        got = 0;
    else if (got == 1)
        got = connection_say(s, "salus-serve sent message %u instead of a batch", s->msg->m.kind);
    fdutil_close(&fd);
    s->over = got == 0;
    return got < 0 ? end(s) : got;
}

int salus_serve_failed(struct salus_serve *s, const char *why) {
    struct serve_wire_msg m = {.kind = SERVE_WIRE_FAILED};

    if (connection_check(s, 0)) return -1;
    m.number = s->number;
    snprintf(m.text, sizeof(m.text), "%s",
             why && *why ? why : "the model's program did not say why");
    connection_forget(s);
    return send_word(s, &m);
}
