/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of the daemon, its GPU, its lanes and policies; jobs are report_job.c's.
 */
#include "daemon/broker/control/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/fdutil.h"
#include "daemon/broker/config/choice.h"
#include "daemon/broker/control/history.h"
#include "daemon/broker/control/overdue.h"
#include "daemon/broker/control/report_job.h"
#include "daemon/broker/worker/board.h"
#include "proto/gen/calls.h"
#include "proto/version.h"

#define GPU_ID 0 /* one worker, one GPU */

static bool worker_ready(const struct server *s) {
    return s->supervise.state == SUPERVISE_READY;
}

static const char *state_of(const struct server *s) {
    if (worker_ready(s)) return "ok";
    return s->supervise.state == SUPERVISE_FAILED ? "failed" : "degraded";
}

static const char *gpu_state_of(const struct supervise *v) {
    switch (v->state) {
    case SUPERVISE_READY: return "ready";
    case SUPERVISE_STARTING:
    case SUPERVISE_TRYING: return "starting";
    case SUPERVISE_FAILED: return "failed";
    default: return "down";
    }
}

static void fill_status(const struct server *s, struct ctl_status *r) {
    memset(r, 0, sizeof(*r));
    snprintf(r->state, sizeof(r->state), "%s", state_of(s));
    snprintf(r->version, sizeof(r->version), "%s", VERSION_TEXT);
    snprintf(r->run_dir, sizeof(r->run_dir), "%s", s->config.run_dir);
    snprintf(r->trouble, sizeof(r->trouble), "%s", s->supervise.trouble);
    r->pid = (uint64_t)getpid();
    r->uptime_ns = fdutil_now_ns() - s->start_ns;
    r->jobs = s->running_count;
    r->max_jobs = s->config.max_jobs;
    r->connections = s->client_count;
    r->gpus = 1;
    r->worker_restarts = s->supervise.restarts;
}

static void fill_version(struct ctl_version *r) {
    memset(r, 0, sizeof(*r));
    snprintf(r->version, sizeof(r->version), "%s", VERSION_TEXT);
    snprintf(r->client_protocol, sizeof(r->client_protocol), "%d.%d", WIRE_MAJOR, WIRE_MINOR);
    snprintf(r->spec_hash, sizeof(r->spec_hash), "%016llx", (unsigned long long)CALL_SPEC_HASH);
    r->control_protocol = CTL_PROTOCOL;
}

static void fill_uuid(const uint8_t *u, char *out, size_t cap) {
    snprintf(out, cap, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13],
             u[14], u[15]);
}

static void fill_gpu(const struct server *s, struct ctl_gpu *r) {
    const struct supervise *v = &s->supervise;
    struct wire_board board;
    const struct list *pos;

    memset(r, 0, sizeof(*r));
    r->id = GPU_ID;
    snprintf(r->device, sizeof(r->device), "%s", s->config.device);
    snprintf(r->state, sizeof(r->state), "%s", gpu_state_of(v));
    snprintf(r->trouble, sizeof(r->trouble), "%s", v->trouble);
    r->worker_pid = (uint64_t)v->pid;
    r->worker_restarts = v->restarts;
    r->jobs = s->running_count;
    if (v->device.memory_bytes == 0) return; /* no worker was ever ready */
    report_foreign(r->name, v->device.name, sizeof(v->device.name));
    fill_uuid(v->device.uuid, r->uuid, sizeof(r->uuid));
    snprintf(r->compute, sizeof(r->compute), "%u.%u", v->device.cc_major, v->device.cc_minor);
    r->memory_bytes = v->device.memory_bytes;
    r->sms = v->device.sm_count;
    list_each(pos, &v->attachments) {
        const struct attachment *a = list_entry(pos, struct attachment, link);

        if (a->completion)
            r->memory_used_bytes += atom_load_relaxed(&a->completion->stats.memory_bytes);
    }
    if (board_read(v->board, &board)) {
        r->granted_bytes = board.granted_bytes;
        r->lanes = board.lane_count;
        r->waiting = board.waiting_jobs;
    }
}

/* Attachments are in the order of their ids: each is appended with the next number. Returns what to
 * give as `after` for the rest, 0 when nothing is left. */
static uint64_t list_jobs(struct server *s, uint64_t after, uid_t uid, struct ctl_out *out) {
    struct list *pos;
    uint64_t last = after;

    list_each(pos, &s->supervise.attachments) {
        struct attachment *a = list_entry(pos, struct attachment, link);
        struct ctl_job job;

        if (a->job_id <= after || a->job_id == WIRE_TRIAL_JOB) continue;
        report_job(a, &job);
        overdue_explain(s, a, uid, &job);
        report_job_hide(uid, &job);
        if (!ctl_msg_add(out, CTL_RECORD_JOB, &job)) return last;
        last = a->job_id;
    }
    return 0;
}

static bool show_job(struct server *s, uint64_t id, uid_t uid, struct ctl_out *out) {
    struct attachment *a = id <= UINT32_MAX ? supervise_find(s, (uint32_t)id) : NULL;
    struct ctl_job job;

    if (!a) return false;
    report_job(a, &job);
    overdue_explain(s, a, uid, &job);
    report_job_hide(uid, &job);
    return ctl_msg_add(out, CTL_RECORD_JOB, &job);
}

/* ---- lanes and policies ---------------------------------------------------------------------- */

static void fill_lane(struct server *s, const struct wire_lane *l, struct ctl_lane *r) {
    const struct attachment *holder = l->holder ? supervise_find(s, l->holder) : NULL;

    memset(r, 0, sizeof(*r));
    r->id = l->lane;
    r->gpu = GPU_ID;
    r->memory_bytes = l->bytes;
    r->backed_bytes = l->chunk_bytes;
    r->jobs = l->jobs;
    r->holder = l->holder;
    if (holder) snprintf(r->holder_name, sizeof(r->holder_name), "%s", holder->name);
    r->switches = l->switches;
    r->cleared_bytes = l->cleared_bytes;
    r->busy_ns = l->busy_ns;
}

/* All lanes, or the one with number `id` when it is given. Whether there was any. A message has
 * room for all. */
static bool list_lanes(struct server *s, const uint64_t *id, struct ctl_out *out) {
    struct wire_board board;
    struct ctl_lane lane;
    bool found = false;

    if (!board_read(s->supervise.board, &board)) return false;
    for (uint32_t i = 0; i < board.lane_count; i++) {
        if (id && board.lanes[i].lane != *id) continue;
        fill_lane(s, &board.lanes[i], &lane);
        found = ctl_msg_add(out, CTL_RECORD_LANE, &lane);
    }
    return found;
}

/* As the worker's policy found it. */
static uint64_t sm_threshold(const struct server *s) {
    struct wire_board board;

    return board_read(s->supervise.board, &board) ? board.sm_threshold : 0;
}

static void list_policies(const struct server *s, struct ctl_out *out) {
    int count;
    const struct choice_policy *p = choice_policies(&count);

    for (int i = 0; i < count; i++) {
        struct ctl_policy r = {0};
        const char *chosen = *p[i].kind == 'l' ? s->choice.lane : s->choice.kernel;

        snprintf(r.kind, sizeof(r.kind), "%s", p[i].kind);
        snprintf(r.name, sizeof(r.name), "%s", p[i].name);
        snprintf(r.sentence, sizeof(r.sentence), "%s", p[i].sentence);
        r.chosen = strcmp(chosen, p[i].name) == 0;
        ctl_msg_add(out, CTL_RECORD_POLICY, &r);
    }
}

/* ---- the verbs ------------------------------------------------------------------------------- */

static int not_found(struct ctl_out *out, const char *what, uint64_t id, const char *kind,
                     const void **bytes, size_t *n) {
    char text[80], hint[40];

    snprintf(text, sizeof(text), "%s %" PRIu64 ": no such %s", what, id, kind);
    snprintf(hint, sizeof(hint), "see 'salusctl %s list'", what);
    return ctl_msg_refusal(out, CTL_E_NOT_FOUND, text, hint, bytes, n);
}

int report_answer(struct server *s, const struct ctl_request *r, uid_t uid, struct ctl_out *out,
                  const void **bytes, size_t *n) {
    uint64_t id = r->args.id, next = 0;
    union ctl_any any;

    switch (r->verb) {
    case CTL_V_STATUS:
        fill_status(s, &any.status);
        ctl_msg_add(out, CTL_RECORD_STATUS, &any);
        break;
    case CTL_V_VERSION:
        fill_version(&any.version);
        ctl_msg_add(out, CTL_RECORD_VERSION, &any);
        break;
    case CTL_V_JOB_LIST: next = list_jobs(s, r->args.after, uid, out); break;
    case CTL_V_JOB_SHOW:
    case CTL_V_JOB_SET:
    case CTL_V_JOB_PAUSE:
    case CTL_V_JOB_RESUME:
    case CTL_V_JOB_KILL:
        if (!show_job(s, id, uid, out)) return not_found(out, "job", id, "job", bytes, n);
        break;
    case CTL_V_GPU_SHOW:
    case CTL_V_GPU_RETRY:
        if (id != GPU_ID) return not_found(out, "gpu", id, "GPU", bytes, n);
        /* fall through */
    case CTL_V_GPU_LIST:
        fill_gpu(s, &any.gpu);
        ctl_msg_add(out, CTL_RECORD_GPU, &any);
        break;
    case CTL_V_LANE_LIST: list_lanes(s, NULL, out); break;
    case CTL_V_LANE_SHOW:
        if (!list_lanes(s, &id, out)) return not_found(out, "lane", id, "lane", bytes, n);
        break;
    case CTL_V_POLICY_LIST: list_policies(s, out); break;
    case CTL_V_POLICY_SHOW:
    case CTL_V_POLICY_SET:
        choice_show(&s->choice, sm_threshold(s), &any.choice);
        ctl_msg_add(out, CTL_RECORD_CHOICE, &any);
        break;
    case CTL_V_TENANT_LIST: next = users_list(s, r->args.after, out); break;
    case CTL_V_HISTORY_LIST: next = history_list(s->history, r->args.after, uid, out); break;
    case CTL_V_PROFILE_LIST: /* kernel_verbs.h */
    case CTL_V_PROFILE_SHOW:
    case CTL_V_PROFILE_HINTS:
    case CTL_V_PROFILE_IMPORT:
    case CTL_V_PROFILE_EXPORT:
    case CTL_V_PROFILE_FORGET:
    case CTL_V_COUNT: return -EINVAL;
    }
    return ctl_msg_reply(out, next, bytes, n);
}
