/* SPDX-License-Identifier: Apache-2.0
 *
 * The reason is recorded for the history first: the first record wins.
 */
#include "daemon/broker/clients/disconnect.h"

#include <stdio.h>
#include <string.h>

#include "common/err.h"
#include "common/log.h"
#include "daemon/broker/clients/handshake.h"
#include "daemon/broker/clients/hello.h"
#include "daemon/broker/clients/refuse.h"

void disconnect_spoke(struct client *c, const char *why) {
    char how[HELLO_WHY_BYTES + 32];

    snprintf(how, sizeof(how), "protocol error: %s", why);
    attachments_say_how(c->attachment, "expelled", "%s", why);
    client_lose(c, ERR_PROTOCOL);
    client_ended(c, how);
}

void disconnect_expelled(struct client *c, const struct wire_worker_msg *msg) {
    int err = msg->result < 0 ? msg->result : ERR_PROTOCOL;

    log_warn("client", "event=expelled job=%u pid=%d uid=%u name=\"%s\" error=%s why=\"%.200s\"",
             c->job_id, (int)c->job.pid, (unsigned)c->job.uid, c->job.name, err_name(err),
             msg->text);
    if (c->state == CLIENT_OFFERED) {
        refuse_client(c, err, "%.250s", msg->text);
        return;
    }
    attachments_say_how(c->attachment, "expelled", "%.250s", msg->text);
    client_lose(c, err);
    client_close(c);
}

void disconnect_worker_lost(struct client *c) {
    c->attachment = NULL;
    if (c->state == CLIENT_ATTACHING) {
        handshake_again(c);
        return;
    }
    if (c->state == CLIENT_OFFERED) {
        refuse_client(c, ERR_WORKER_LOST, "%s", err_text(ERR_WORKER_LOST));
        return;
    }
    client_lose(c, ERR_WORKER_LOST);
    client_ended(c, "the GPU worker ended");
}

void disconnect_not_restored(struct client *c, int err) {
    client_lose(c, err);
    client_ended(c, "no GPU worker could continue the job");
}

void disconnect_kill(struct client *c, uid_t uid) {
    char by[sizeof(c->attachment->by)];

    snprintf(by, sizeof(by), "user %u", (unsigned)uid);
    if (c->state != CLIENT_RUNNING) {
        refuse_by(c, by, ERR_ENDED, err_text(ERR_ENDED));
        return;
    }
    attachments_say_how(c->attachment, "killed", "by user %u", (unsigned)uid);
    memcpy(c->attachment->by, by, sizeof(by));
    client_lose(c, ERR_ENDED);
    client_ended(c, "an operator killed the job");
}

void disconnect_excess(struct client *c, const char *why) {
    if (c->state != CLIENT_RUNNING) {
        refuse_beyond(c, ERR_NO_MEMORY, why);
        return;
    }
    attachments_say_how(c->attachment, "expelled", "%s", why);
    snprintf(c->attachment->by, sizeof(c->attachment->by), "limit");
    client_lose(c, ERR_NO_MEMORY);
    client_ended(c, why);
}

void disconnect_stop(struct client *c) {
    if (c->state != CLIENT_RUNNING) {
        refuse_client(c, ERR_BROKER_LOST, "salusd is stopping");
        return;
    }
    attachments_say_how(c->attachment, "lost", "salusd was stopped");
    snprintf(c->attachment->by, sizeof(c->attachment->by), "daemon");
    client_lose(c, ERR_STOPPED);
    client_ended(c, "salusd is stopping");
}
