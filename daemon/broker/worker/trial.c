/* SPDX-License-Identifier: Apache-2.0
 *
 * The trial is a client without a socket: its pages and windows are made as any other's.
 */
#include "daemon/broker/worker/trial.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/err.h"
#include "daemon/broker/clients/pages.h"

static void reset(struct server *s) {
    struct client *c = &s->supervise.trial;

    *c = (struct client){.server = s,
                         .state = CLIENT_ATTACHING,
                         .fd = -1,
                         .pidfd = -1,
                         .pid = getpid(),
                         .uid = getuid(),
                         .name = "trial",
                         .word = "given",
                         .job = {.flags = WIRE_JOB_WORD, .weight = 1},
                         .host_bytes = s->config.window_host_bytes,
                         .host_fd = -1,
                         .submission_fd = -1,
                         .doorbell_fd = -1};
}

/* Offers the worker windows at or after slot `from`. */
static int ask(struct server *s, int from, char *why, size_t cap) {
    struct client *c = &s->supervise.trial;
    int slot = c->tries < BROKER_TRIES ? slots_take(&s->slots, from) : -1, rc;

    if (slot < 0) {
        snprintf(why, cap, "%d address windows were tried, and in each is something of the worker",
                 c->tries);
        return -EADDRNOTAVAIL;
    }
    c->tries++;
    rc = supervise_attach(c, slot);
    if (rc == 0) return 0;
    slots_put(&s->slots, slot);
    snprintf(why, cap, "it cannot be spoken to: %s", err_text(rc));
    return rc;
}

int trial_begin(struct server *s, char *why, size_t cap) {
    int rc;

    reset(s);
    rc = pages_create(&s->supervise.trial);
    if (rc == 0) return ask(s, 0, why, cap);
    snprintf(why, cap, "shared memory cannot be made: %s", err_text(rc));
    return rc;
}

int trial_attached(struct server *s, const struct wire_worker_msg *msg, int completion_fd,
                   char *why, size_t cap) {
    struct client *c = &s->supervise.trial;
    struct attachment *a = c->attachment;
    int rc = msg->result;

    if (rc == 0 && completion_fd < -1) rc = completion_fd; /* it came, and we had no room for it */
    if (rc == 0) rc = pages_see_completion(a, completion_fd);
    if (rc < 0 && rc != -EEXIST) {
        snprintf(why, cap, "%.200s", *msg->text ? msg->text : err_text(rc));
        return rc;
    }
    if (rc == -EEXIST) slots_block(&s->slots, a->slot);
    c->attachment = NULL;
    supervise_detach(s, a);
    if (rc == 0) return 0;
    rc = ask(s, a->slot + 1, why, cap);
    return rc < 0 ? rc : 1;
}

void trial_end(struct server *s) {
    struct client *c = &s->supervise.trial;

    if (!c->server) return;
    pages_finish(c);
    c->attachment = NULL;
    c->server = NULL;
}
