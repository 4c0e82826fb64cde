/* SPDX-License-Identifier: Apache-2.0
 *
 * The answer goes into an empty socket, which has room for it: nobody waits for a slow reader.
 */
#include "daemon/broker/clients/question.h"

#include <stddef.h>

#include "common/fdutil.h"
#include "daemon/broker/clients/deadline.h"
#include "daemon/broker/clients/hello.h"
#include "daemon/broker/clients/refuse.h"
#include "daemon/broker/jobs/share.h"

static void answer(struct client *c) {
    const struct clients *all = c->clients;
    struct wire_view v;

    v.magic = WIRE_QUESTION_MAGIC;
    v.major = WIRE_MAJOR;
    v.minor = WIRE_MINOR;
    v.device = all->worker->device;
    share_fill(all->attachments, c->job.uid, c->job.pid, v.device.memory_bytes, &v);
    fdutil_send(c->fd, &v,
                offsetof(struct wire_view, processes) + v.process_count * sizeof(v.processes[0]),
                NULL, 0);
    client_close(c);
}

/* A worker that went leaves its device, which the next one will have as well. */
void question_answer(struct client *c) {
    const struct worker *w = c->clients->worker;

    if (w->state == WORKER_FAILED) {
        refuse_given_up(c);
    } else if (w->device.memory_bytes == 0) {
        c->state = CLIENT_ASKING;
        deadline_set(c, c->clients->config->worker_timeout);
    } else {
        answer(c);
    }
}

void question_take(struct client *c, const void *msg, size_t bytes) {
    char why[HELLO_WHY_BYTES];
    int err = hello_check_question(msg, bytes, why, sizeof(why));

    if (err < 0)
        refuse_client(c, err, "%s", why);
    else
        question_answer(c);
}
