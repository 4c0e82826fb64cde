/* SPDX-License-Identifier: Apache-2.0
 *
 * A closed client is removed from all lists and counters at once; only its memory waits for libuv.
 */
#include "daemon/broker/clients/client.h"

#include <stdlib.h>

#include "common/fdutil.h"
#include "common/log.h"

static void on_handle_closed(uv_handle_t *h) {
    struct client *c = h->data;

    if (--c->handles == 0) free(c);
}

static enum users_kind kind_of(const struct client *c) {
    if (c->state == CLIENT_QUEUED) return USERS_QUEUED;
    return c->state == CLIENT_RUNNING ? USERS_JOB : USERS_HANDSHAKE;
}

/* Returns the client's place. The next waiting client gets it in the loop's next round, after this
 * client is gone. */
static void give_back_place(struct client *c) {
    struct clients *all = c->clients;

    c->has_place = false;
    c->user->places--;
    if (c->state != CLIENT_RUNNING) c->user->beginning--;
    all->places--;
    if (!all->stopping) uv_idle_start(&all->freed, all->on_freed);
}

void client_close(struct client *c) {
    struct clients *all = c->clients;

    if (c->has_place) give_back_place(c);
    if (c->state == CLIENT_RUNNING) all->running--;
    users_leave(c->user, kind_of(c));
    c->state = CLIENT_CLOSED;
    list_remove(&c->link);
    all->count--;
    if (c->attachment) attachments_detach(&c->gpu->attachments, c->attachment);
    c->attachment = NULL;
    uv_close((uv_handle_t *)&c->readable, on_handle_closed);
    uv_close((uv_handle_t *)&c->deadline.timer, on_handle_closed);
    if (c->pidfd >= 0) uv_close((uv_handle_t *)&c->death, on_handle_closed);
    fdutil_close(&c->fd); /* immediately, so that the peer does not wait for our loop */
    fdutil_close(&c->pidfd);
    pages_finish(&c->pages);
}

void client_ended(struct client *c, const char *how) {
    /* A client that sent nothing, or only a question, merely checked whether we run. */
    bool job = c->state != CLIENT_HELLO && c->state != CLIENT_ASKING;

    log_burst("client", job ? LOG_INFO : LOG_DEBUG,
              "event=ended job=%u pid=%d name=\"%s\" why=\"%s\"", c->job_id, (int)c->job.pid,
              c->job.name, how);
    client_close(c);
}

void client_lose(struct client *c, int err) {
    if (c->pages.submission && c->attachment) c->attachment->lost = err;
    pages_lose(&c->pages, err);
}
