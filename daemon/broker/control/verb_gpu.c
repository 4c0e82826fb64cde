/* SPDX-License-Identifier: Apache-2.0
 *
 * Verbs of GPUs and lanes, from the worker's board.
 */
#include "daemon/broker/control/verb_gpu.h"

#include <stdio.h>
#include <string.h>

#include "common/atomics.h"
#include "daemon/broker/printable.h"
#include "daemon/broker/worker/board.h"
#include "proto/cuda/uuid.h"

/* ---- GPUs ------------------------------------------------------------------------------------ */

static const char *state_of(const struct worker *w) {
    switch (w->state) {
    case WORKER_READY: return "ready";
    case WORKER_STARTING:
    case WORKER_TRYING:
    case WORKER_RESTORING: return "starting";
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

static void fill_gpu(const struct gpu *g, struct ctl_gpu *r) {
    const struct worker *w = &g->worker;
    const struct wire_device *d = &w->device;
    struct wire_board board;

    memset(r, 0, sizeof(*r));
    r->id = g->number;
    snprintf(r->device, sizeof(r->device), "%s", g->config.device);
    snprintf(r->state, sizeof(r->state), "%s", state_of(w));
    snprintf(r->trouble, sizeof(r->trouble), "%s", w->trouble);
    r->worker_pid = (uint64_t)w->channel.pid;
    r->worker_restarts = w->restarts;
    r->recovered = w->recovered;
    r->lost = w->lost;
    r->jobs = attachments_count_used(&g->attachments);
    snprintf(r->lane_policy, sizeof(r->lane_policy), "%s", g->changes.policy.lane);
    snprintf(r->kernel_policy, sizeof(r->kernel_policy), "%s", g->changes.policy.kernel);
    snprintf(r->control_policy, sizeof(r->control_policy), "%s", g->changes.policy.control);
    if (d->memory_bytes == 0) return; /* no worker has been ready yet */
    printable_copy(r->name, d->name, sizeof(d->name));
    uuid_print(d->uuid, r->uuid);
    if (d->driver_index) snprintf(r->index, sizeof(r->index), "%u", d->driver_index - 1);
    snprintf(r->compute, sizeof(r->compute), "%u.%u", d->cc_major, d->cc_minor);
    r->memory_bytes = d->memory_bytes;
    r->sms = d->sm_count;
    r->memory_used_bytes = memory_used(&g->attachments);
    if (!board_read(w->board, &board)) return;
    r->granted_bytes = board.granted_bytes;
    r->kept_bytes = board.kept_bytes;
    r->lanes = board.lane_count;
    r->waiting = board.waiting_jobs;
}

/* `after` counts the GPUs already listed. */
int verb_gpu_list(struct control_request *q) {
    const struct gpus *all = &q->broker->gpus;
    struct ctl_gpu r;

    for (uint64_t i = q->request->args.after; i < all->count; i++) {
        fill_gpu(&all->items[i], &r);
        if (!ctl_msg_add(q->out, CTL_RECORD_GPU, &r)) return control_request_reply(q, i);
    }
    return control_request_reply(q, 0);
}

int verb_gpu_show(struct control_request *q) {
    const struct gpu *g = gpus_find(&q->broker->gpus, q->request->args.id);
    struct ctl_gpu r;

    if (!g) return control_request_not_found(q, "gpu", "GPU");
    fill_gpu(g, &r);
    return control_request_record(q, CTL_RECORD_GPU, &r);
}

int verb_gpu_retry(struct control_request *q) {
    struct gpu *g;

    if (!control_request_admin(q))
        return control_request_refuse(q, CTL_E_NOT_PERMITTED,
                                      "only root and the daemon's user may start the worker",
                                      "see salusctl(1)");
    g = gpus_find(&q->broker->gpus, q->request->args.id);
    if (g) worker_retry(&g->worker);
    return verb_gpu_show(q);
}

/* ---- lanes ----------------------------------------------------------------------------------- */

static void fill_lane(const struct gpu *g, const struct wire_lane *l, struct ctl_lane *r) {
    const struct attachment *holder =
        l->holder ? attachments_find(&g->attachments, l->holder) : NULL;

    memset(r, 0, sizeof(*r));
    r->id = l->lane;
    r->gpu = g->number;
    r->memory_bytes = l->bytes;
    r->backed_bytes = l->chunk_bytes;
    r->jobs = l->jobs;
    r->holder = l->holder;
    if (holder) snprintf(r->holder_name, sizeof(r->holder_name), "%s", holder->job.name);
    r->switches = l->switches;
    r->cleared_bytes = l->cleared_bytes;
    r->busy_ns = l->busy_ns;
}

/* Adds all lanes of a GPU. A message has room for all. */
static void add_lanes(struct control_request *q, const struct gpu *g) {
    struct wire_board board;
    struct ctl_lane lane;

    if (!board_read(g->worker.board, &board)) return;
    for (uint32_t i = 0; i < board.lane_count; i++) {
        fill_lane(g, &board.lanes[i], &lane);
        ctl_msg_add(q->out, CTL_RECORD_LANE, &lane);
    }
}

/* Lists the lanes of one GPU or of all. For all, each GPU has a message of its own, and `after`
 * counts these. */
int verb_lane_list(struct control_request *q) {
    const struct gpus *all = &q->broker->gpus;
    uint64_t after = q->request->args.after;
    int err = 0;
    const struct gpu *g;

    if (ctl_msg_given(q->request, CTL_A_gpu)) {
        g = control_request_gpu(q, &err);
        if (!g) return err;
        add_lanes(q, g);
        return control_request_reply(q, 0);
    }
    if (after < all->count) add_lanes(q, &all->items[after]);
    return control_request_reply(q, after + 1 < all->count ? after + 1 : 0);
}

int verb_lane_show(struct control_request *q) {
    int err = 0;
    const struct gpu *g = control_request_gpu(q, &err);
    struct wire_board board;
    struct ctl_lane lane;

    if (!g) return err;
    if (!board_read(g->worker.board, &board)) board.lane_count = 0;
    for (uint32_t i = 0; i < board.lane_count; i++) {
        if (board.lanes[i].lane != q->request->args.id) continue;
        fill_lane(g, &board.lanes[i], &lane);
        return control_request_record(q, CTL_RECORD_LANE, &lane);
    }
    return control_request_not_found(q, "lane", "lane");
}
