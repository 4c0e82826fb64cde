/* SPDX-License-Identifier: Apache-2.0
 *
 * Verbs of the GPU and its lanes, from what the worker shows on its board.
 */
#include <stdio.h>
#include <string.h>

#include "common/atomics.h"
#include "daemon/broker/control/verb.h"
#include "daemon/broker/printable.h"
#include "daemon/broker/worker/board.h"
#include "proto/uuid.h"

#define GPU_ID 0 /* one worker, one GPU */

/* ---- GPUs ------------------------------------------------------------------------------------ */

static const char *state_of(const struct worker *w) {
    switch (w->state) {
    case WORKER_READY: return "ready";
    case WORKER_STARTING:
    case WORKER_TRYING: return "starting";
    case WORKER_FAILED: return "failed";
    default: return "down";
    }
}

static uint64_t memory_used(const struct attachments *as) {
    const struct list *pos;
    uint64_t sum = 0;

    list_each(pos, &as->list) {
        const struct attachment *a = list_entry(pos, struct attachment, link);

        if (a->completion) sum += atom_load_relaxed(&a->completion->stats.memory_bytes);
    }
    return sum;
}

static void fill_gpu(const struct broker *b, struct ctl_gpu *r) {
    const struct worker *w = &b->worker;
    const struct wire_device *d = &w->device;
    struct wire_board board;

    memset(r, 0, sizeof(*r));
    r->id = GPU_ID;
    snprintf(r->device, sizeof(r->device), "%s", b->config.device);
    snprintf(r->state, sizeof(r->state), "%s", state_of(w));
    snprintf(r->trouble, sizeof(r->trouble), "%s", w->trouble);
    r->worker_pid = (uint64_t)w->channel.pid;
    r->worker_restarts = w->restarts;
    r->jobs = b->clients.running;
    if (d->memory_bytes == 0) return; /* no worker was ever ready */
    printable_copy(r->name, d->name, sizeof(d->name));
    uuid_print(d->uuid, r->uuid);
    snprintf(r->compute, sizeof(r->compute), "%u.%u", d->cc_major, d->cc_minor);
    r->memory_bytes = d->memory_bytes;
    r->sms = d->sm_count;
    r->memory_used_bytes = memory_used(&b->attachments);
    if (!board_read(w->board, &board)) return;
    r->granted_bytes = board.granted_bytes;
    r->lanes = board.lane_count;
    r->waiting = board.waiting_jobs;
}

int verb_gpu_list(struct asking *q) {
    struct ctl_gpu r;

    fill_gpu(q->broker, &r);
    return asking_record(q, CTL_RECORD_GPU, &r);
}

int verb_gpu_show(struct asking *q) {
    if (q->request->args.id != GPU_ID) return asking_not_found(q, "gpu", "GPU");
    return verb_gpu_list(q);
}

int verb_gpu_retry(struct asking *q) {
    if (!asking_admin(q))
        return asking_refuse(q, CTL_E_NOT_PERMITTED,
                             "only root and the daemon's user start the worker", "see salusctl(1)");
    if (q->request->args.id == GPU_ID) worker_retry(&q->broker->worker);
    return verb_gpu_show(q);
}

/* ---- lanes ----------------------------------------------------------------------------------- */

static void fill_lane(const struct attachments *as, const struct wire_lane *l, struct ctl_lane *r) {
    const struct attachment *holder = l->holder ? attachments_find(as, l->holder) : NULL;

    memset(r, 0, sizeof(*r));
    r->id = l->lane;
    r->gpu = GPU_ID;
    r->memory_bytes = l->bytes;
    r->backed_bytes = l->chunk_bytes;
    r->jobs = l->jobs;
    r->holder = l->holder;
    if (holder) snprintf(r->holder_name, sizeof(r->holder_name), "%s", holder->job.name);
    r->switches = l->switches;
    r->cleared_bytes = l->cleared_bytes;
    r->busy_ns = l->busy_ns;
}

/* All lanes, or the one with number `id` when it is given. Whether there was any. A message has
 * room for all. */
static bool add_lanes(struct asking *q, const uint64_t *id) {
    struct wire_board board;
    struct ctl_lane lane;
    bool found = false;

    if (!board_read(q->broker->worker.board, &board)) return false;
    for (uint32_t i = 0; i < board.lane_count; i++) {
        if (id && board.lanes[i].lane != *id) continue;
        fill_lane(&q->broker->attachments, &board.lanes[i], &lane);
        found = ctl_msg_add(q->out, CTL_RECORD_LANE, &lane);
    }
    return found;
}

int verb_lane_list(struct asking *q) {
    add_lanes(q, NULL);
    return asking_reply(q, 0);
}

int verb_lane_show(struct asking *q) {
    if (!add_lanes(q, &q->request->args.id)) return asking_not_found(q, "lane", "lane");
    return asking_reply(q, 0);
}
