/* SPDX-License-Identifier: Apache-2.0
 *
 * The answer goes into an empty socket, which has room for it: a slow reader delays nobody.
 */
#include "daemon/broker/clients/question.h"

#include <errno.h>
#include <stddef.h>

#include "common/fdutil.h"
#include "daemon/broker/clients/deadline.h"
#include "daemon/broker/clients/hello.h"
#include "daemon/broker/clients/refuse.h"
#include "daemon/broker/jobs/share.h"
#include "daemon/broker/worker/board.h"

/* Device memory that a new job of the user could get. */
static uint64_t free_bytes(const struct client *c, uint64_t total_bytes) {
    uint64_t limit = c->user->limits.value[LIMIT(user_device_memory)], has, free = total_bytes;
    struct wire_board board;

    if (board_read(c->gpu->worker.board, &board)) free = board.free_bytes;
    if (limit == LIMITS_NONE) return free;
    has = attachments_granted(&c->gpu->attachments, c->job.uid);
    if (has >= limit) return 0;
    return limit - has < free ? limit - has : free;
}

static void answer(struct client *c) {
    struct wire_view v;
    uint64_t total;

    v.magic = WIRE_QUESTION_MAGIC;
    v.major = WIRE_MAJOR;
    v.minor = WIRE_MINOR;
    v.device = c->gpu->worker.device;
    total = v.device.memory_bytes = users_shown_bytes(c->user, v.device.memory_bytes);
    share_fill(&c->gpu->attachments, c->job.uid, c->job.pid, total, free_bytes(c, total), &v);
    fdutil_send(c->fd, &v,
                offsetof(struct wire_view, processes) + v.process_count * sizeof(v.processes[0]),
                NULL, 0);
    client_close(c);
}

/* Returns the GPU that the client asks about; else that of its process's job; else the first that
 * may have an answer. NULL: there is no GPU of that number. */
static struct gpu *find_gpu(const struct client *c) {
    struct gpus *all = c->clients->gpus;
    struct gpu *g;

    if (c->asked_gpu) return gpus_find(all, c->asked_gpu - 1);
    g = gpus_of_process(all, c->job.uid, c->job.pid);
    if (g) return g;
    for (uint32_t i = 0; i < all->count; i++)
        if (all->items[i].worker.state != WORKER_FAILED) return &all->items[i];
    return &all->items[0];
}

/* Answers from the device of an ended worker as well, because the next one will have the same. */
void question_answer(struct client *c) {
    char why[GPUS_WHY_BYTES];
    const struct worker *w;

    c->gpu = find_gpu(c);
    if (!c->gpu) {
        gpus_print_missing(c->clients->gpus, c->asked_gpu, why);
        refuse_client(c, -ENODEV, "%s", why);
        return;
    }
    w = &c->gpu->worker;
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
    int err = hello_check_question(msg, bytes, &c->asked_gpu, why, sizeof(why));

    if (err < 0)
        refuse_client(c, err, "%s", why);
    else
        question_answer(c);
}
