/* SPDX-License-Identifier: Apache-2.0
 *
 * A refusal's text is in the offer as well as in the welcome, because the client waits for one of
 * them.
 */
#include "daemon/broker/clients/refuse.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/broker/fd_reserve.h"
#include "proto/gen/calls.h"

static struct wire_offer refusal(int result) {
    return (struct wire_offer){.magic = WIRE_MAGIC,
                               .major = WIRE_MAJOR,
                               .minor = WIRE_MINOR,
                               .spec_hash = CALL_SPEC_HASH,
                               .result = result};
}

void refuse_connection(int fd, int result, const char *text) {
    struct wire_offer offer = refusal(result);

    snprintf(offer.text, sizeof(offer.text), "%s", text);
    fdutil_send(fd, &offer, sizeof(offer), NULL, 0);
    fdutil_close(&fd);
}

/* A worker ended just before the client was welcomed: the library connects again, and notices
 * itself when that fails. */
static bool comes_again(const struct client *c, int result) {
    return c->state == CLIENT_OFFERED && result == ERR_WORKER_LOST;
}

static void note_refusal(const struct client *c, const char *by, const char *why) {
    const struct clients *all = c->clients;

    history_add_refused(all->history, &c->job, c->job_id ? c->job_id : gpus_next_job(all->gpus), by,
                        why);
}

void refuse_by(struct client *c, const char *by, int result, const char *why) {
    struct wire_offer offer = refusal(result);
    struct wire_welcome welcome = {.magic = WIRE_MAGIC, .result = result};

    if (c->said_hello && !comes_again(c, result)) note_refusal(c, by, why);
    snprintf(offer.text, sizeof(offer.text), "%s", why);
    memcpy(welcome.text, offer.text, sizeof(welcome.text));
    log_write("client", c->clients->stopping ? LOG_INFO : LOG_WARN,
              "event=refused pid=%d uid=%u name=\"%s\" error=%s why=\"%s\"", (int)c->job.pid,
              (unsigned)c->job.uid, c->job.name, err_name(result), offer.text);
    if (c->state == CLIENT_OFFERED)
        fdutil_send(c->fd, &welcome, sizeof(welcome), NULL, 0);
    else
        fdutil_send(c->fd, &offer, sizeof(offer), NULL, 0);
    client_close(c);
}

void refuse_client(struct client *c, int result, const char *fmt, ...) {
    char why[sizeof(((struct wire_offer *)0)->text)];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why, sizeof(why), fmt, ap);
    va_end(ap);
    refuse_by(c, result == ERR_WORKER_LOST ? "worker" : "daemon", result, why);
}

void refuse_scarce(struct client *c, int err) {
    if (err == -ENOMEM || err == -ENOBUFS)
        refuse_client(c, err, "salusd is out of memory for another job; end some jobs");
    else
        refuse_client(c, err, FD_RESERVE_TEXT);
}

void refuse_given_up(struct client *c) {
    refuse_client(c, ERR_WORKER_LOST, "salusd gave up on the GPU worker: %.200s",
                  c->gpu->worker.trouble);
}

void refuse_job(struct client *c, int result, const char *why) {
    refuse_by(c, "admission", result, why);
}

void refuse_beyond(struct client *c, int result, const char *why) {
    refuse_by(c, "limit", result, why);
}
