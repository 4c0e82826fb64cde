/* SPDX-License-Identifier: Apache-2.0
 *
 * Each query uses a connection of its own.
 */
#include "daemon/ctl/cli/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "common/fdutil.h"
#include "daemon/ctl/cli/advice.h"
#include "daemon/ctl/cli/user_name.h"
#include "proto/control/ctl_msg.h"

int query_connect(const char *path, uint64_t timeout_ms) {
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    struct timeval limit = {.tv_sec = (time_t)(timeout_ms / 1000),
                            .tv_usec = (suseconds_t)(timeout_ms % 1000 * 1000)};
    int fd;

    if (strlen(path) >= sizeof(addr.sun_path)) return -ENAMETOOLONG;
    strcpy(addr.sun_path, path);
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0) return -errno;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0 ||
        connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
        int err = -errno;

        fdutil_close(&fd);
        return err;
    }
    return fd;
}

static int explain(struct cli *c, int err, bool quiet) {
    char advice[ADVICE_BYTES];

    switch (err) {
    case -ENOENT:
    case -ECONNREFUSED:
        if (quiet) return CLI_NO_DAEMON;
        advice_start(c, advice);
        return cli_fail(c, CLI_NO_DAEMON, "no salusd answers at %s; %s", c->socket, advice);
    case -EACCES:
    case -EPERM:
        return cli_fail(c, CLI_NOT_PERMITTED,
                        "%s: permission denied; only members of the group that owns it may use it: "
                        "see 'ls -l %s'",
                        c->socket, c->socket);
    case -EAGAIN:
    case -ETIMEDOUT:
        return cli_fail(c, CLI_TIMEOUT, "salusd at %s did not answer within %.3g s; %s", c->socket,
                        (double)c->timeout_ms / 1000, advice_log(c));
    default: return cli_fail(c, CLI_FAILED, "%s: %s; %s", c->socket, strerror(-err), advice_log(c));
    }
}

static void keep_record(void *arg, const void *record) {
    struct query *q = arg;

    if (q->count == q->cap) {
        size_t cap = q->cap ? 2 * q->cap : 16;
        char *grown = realloc(q->records, cap * q->record_bytes);

        if (!grown) {
            q->no_memory = true;
            return;
        }
        q->records = grown;
        q->cap = cap;
    }
    memcpy(q->records + q->count++ * q->record_bytes, record, q->record_bytes);
}

static int status_of(const char *code) {
    for (int i = 0; i < CTL_E_COUNT; i++)
        if (strcmp(ctl_error_info(i)->code, code) == 0) return ctl_error_info(i)->status;
    return CLI_FAILED;
}

/* Sends a request and takes its reply. Sets `next` to where the list continues. */
static int ask_once(struct cli *c, int fd, const struct ctl_request *r, struct query_fds *fds,
                    struct query *q, uint64_t *next) {
    static unsigned char buf[CTL_MESSAGE_MAX];
    char why[CTL_MSG_WHY_BYTES];
    struct ctl_reply reply;
    size_t bytes;
    int n, came = 1;

    fdutil_close(&fds->in);
    n = ctl_msg_request_encode(r, buf, sizeof(buf), &bytes);
    if (n == 0) n = fdutil_send(fd, buf, bytes, &fds->out, fds->out >= 0);
    if (n == 0 || n == -EPIPE) n = fdutil_recv(fd, buf, sizeof(buf), &fds->in, &came);
    if (came == FDUTIL_LOST)
        return cli_fail(c, CLI_FAILED,
                        "the reply's descriptor was lost: salusctl has as many open files as it "
                        "may; raise 'ulimit -n'");
    if (n <= 0) return explain(c, n < 0 ? n : -ECONNRESET, false);
    if (ctl_msg_reply_decode(buf, (size_t)n, q->kind, &reply, keep_record, q, why, sizeof(why)) < 0)
        return cli_fail(c, CLI_PROTOCOL,
                        "the reply from %s cannot be understood: %s; compare 'salusctl version' "
                        "with 'salusd --version'",
                        c->socket, why);
    if (q->no_memory) return cli_fail(c, CLI_FAILED, "out of memory");
    if (!reply.ok) {
        char text[CTL_TEXT_BYTES];

        user_name_put(reply.text, text, sizeof(text));
        return cli_fail(c, status_of(reply.code), "%s%s%s", text, *reply.hint ? "; " : "",
                        reply.hint);
    }
    *next = reply.next;
    return CLI_OK;
}

static int send_request(struct cli *c, const struct ctl_request *request, bool quiet,
                        struct query_fds *fds, struct query *q) {
    struct ctl_request r = *request;
    int fd = query_connect(c->socket, c->timeout_ms), status;

    memset(q, 0, sizeof(*q));
    q->kind = ctl_verb_info(r.verb)->record;
    q->record_bytes = ctl_record_bytes(q->kind);
    if (fd < 0) return explain(c, fd, quiet);
    for (;;) {
        uint64_t next = 0;

        status = ask_once(c, fd, &r, fds, q, &next);
        if (status != CLI_OK || next <= r.args.after) break; /* a list never goes backwards */
        ctl_msg_put(&r, CTL_A_after, (int64_t)next);
    }
    fdutil_close(&fd);
    if (status != CLI_OK) query_finish(q);
    return status;
}

int query_send(struct cli *c, const struct ctl_request *r, bool quiet, struct query *q) {
    struct query_fds none = {-1, -1};
    int status = send_request(c, r, quiet, &none, q);

    fdutil_close(&none.in);
    return status;
}

int query_send_fds(struct cli *c, const struct ctl_request *r, struct query_fds *fds,
                   struct query *q) {
    int status = send_request(c, r, false, fds, q);

    if (status != CLI_OK) fdutil_close(&fds->in);
    return status;
}

int query_ask(struct cli *c, enum ctl_verb verb, uint64_t id, bool quiet, struct query *q) {
    struct ctl_request r = {.verb = verb};

    if (ctl_verb_takes(verb, CTL_A_id)) ctl_msg_put(&r, CTL_A_id, (int64_t)id);
    return query_send(c, &r, quiet, q);
}

bool query_silently(const struct cli *c, enum ctl_verb verb, struct query *q) {
    struct cli silent = *c;
    bool ok;

    silent.err = fopen("/dev/null", "we");
    if (!silent.err) return false;
    ok = query_ask(&silent, verb, 0, true, q) == CLI_OK;
    fclose(silent.err);
    return ok;
}

const void *query_record(const struct query *q, size_t i) {
    return q->records + i * q->record_bytes;
}

void query_finish(struct query *q) {
    free(q->records);
    q->records = NULL;
    q->count = q->cap = 0;
}
