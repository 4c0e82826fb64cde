/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/broker/clients/deadline.h"

#include <errno.h>
#include <stdio.h>

#include "common/err.h"
#include "daemon/broker/clients/refuse.h"

#define NS_PER_MS 1000000u

static void on_deadline(uv_timer_t *t) {
    struct client *c = t->data;
    const struct clients *all = c->clients;
    char why[USERS_WHY_BYTES];
    unsigned long long ms = all->config->handshake_timeout / NS_PER_MS;

    switch (c->state) {
    case CLIENT_HELLO:
        refuse_client(c, -ETIMEDOUT,
                      "the client sent no hello message within %llu ms (handshake_timeout)", ms);
        break;
    case CLIENT_QUEUED:
        snprintf(why, sizeof(why),
                 "the job waited longer than its admit_timeout: %u jobs are attached (max_jobs = "
                 "%llu); end some, or raise max_jobs in salus.conf(5)",
                 all->places, (unsigned long long)all->config->max_jobs);
        refuse_job(c, -EBUSY, why);
        break;
    case CLIENT_OFFERED:
        refuse_client(c, -ETIMEDOUT,
                      "the client did not answer the offer of address windows within %llu ms "
                      "(handshake_timeout)",
                      ms);
        break;
    case CLIENT_WAITING:
    case CLIENT_ASKING:
    case CLIENT_ATTACHING:
        refuse_client(c, ERR_WORKER_LOST, "the GPU worker is not running: %.180s",
                      *c->gpu->worker.trouble ? c->gpu->worker.trouble
                                              : "the worker does not answer");
        break;
    case CLIENT_RUNNING:
    case CLIENT_CLOSED: break;
    }
}

void deadline_init(struct client *c, uv_loop_t *loop) {
    expiry_init(&c->deadline, loop, c, on_deadline);
}

void deadline_set(struct client *c, uint64_t ns) {
    expiry_start(&c->deadline, ns);
}
