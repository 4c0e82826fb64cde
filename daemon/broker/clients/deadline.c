/* SPDX-License-Identifier: Apache-2.0
 *
 * Timers run before sockets are looked at; if it was we who were late, the client's message is
 * there.
 */
#include "daemon/broker/clients/deadline.h"

#include <errno.h>
#include <sys/socket.h>

#include "common/err.h"
#include "daemon/broker/clients/refuse.h"

#define NS_PER_MS 1000000u

static void on_deadline(uv_timer_t *t) {
    struct client *c = t->data;
    const struct clients *all = c->clients;
    unsigned long long ms = all->config->handshake_timeout / NS_PER_MS;
    char byte;

    if (recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0) {
        deadline_set(c, all->config->handshake_timeout);
        return;
    }
    switch (c->state) {
    case CLIENT_HELLO: refuse_client(c, -ETIMEDOUT, "no hello came within %llu ms", ms); break;
    case CLIENT_OFFERED:
        refuse_client(c, -ETIMEDOUT, "no answer to the offered windows came within %llu ms", ms);
        break;
    case CLIENT_WAITING:
    case CLIENT_ASKING:
    case CLIENT_ATTACHING:
        refuse_client(c, ERR_WORKER_LOST, "the GPU worker is not running: %.180s",
                      *all->worker->trouble ? all->worker->trouble : "it does not answer");
        break;
    case CLIENT_RUNNING:
    case CLIENT_CLOSED: break;
    }
}

void deadline_set(struct client *c, uint64_t ns) {
    uv_timer_start(&c->deadline, on_deadline, (ns + NS_PER_MS - 1) / NS_PER_MS, 0);
}
