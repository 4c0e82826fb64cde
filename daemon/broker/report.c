/* SPDX-License-Identifier: Apache-2.0
 *
 * Records for salusctl. Counters come from the page that the worker writes, so they cost it
 * nothing; each is read once.
 */
#include "daemon/broker/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/fdutil.h"
#include "proto/gen/calls.h"
#include "proto/version.h"

#define GPU_ID 0 /* one worker, one GPU */

static bool worker_ready(const struct server *s) {
    return s->supervise.state == SUPERVISE_READY;
}

static void fill_status(const struct server *s, struct ctl_status *r) {
    memset(r, 0, sizeof(*r));
    snprintf(r->state, sizeof(r->state), "%s", worker_ready(s) ? "ok" : "degraded");
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

/* Text that another process wrote: bounded, and nothing in it that a terminal would obey. */
static void copy_foreign(char *out, const char *text, size_t cap) {
    size_t n = strnlen(text, cap);

    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];

        out[i] = c < ' ' || c > '~' ? '?' : (char)c;
    }
    out[n] = '\0';
}

static void fill_counters(const struct wire_completion *page, struct ctl_job *r) {
    const struct wire_stats *st = &page->stats;
    const struct wire_fault *f = &page->fault;
    char text[sizeof(f->text) + 1], kernel[sizeof(f->kernel) + 1];

    r->memory_bytes = atom_load_relaxed(&st->memory_bytes);
    r->busy_ns = atom_load_relaxed(&st->busy_ns);
    r->launches = atom_load_relaxed(&st->launches);
    r->copies = atom_load_relaxed(&st->copies);
    r->copied_bytes = atom_load_relaxed(&st->copied_bytes);
    r->ops = atom_load_relaxed(&st->ops);
    r->queued = atom_load_relaxed(&st->queued);
    r->modules = atom_load_relaxed(&st->modules);
    r->functions = atom_load_relaxed(&st->functions);
    r->faults = atom_load_relaxed(&st->faults);
    r->fault = atom_load_acquire(&f->cuda); /* stored last: what follows is complete */
    if (r->fault == 0) return;
    copy_foreign(text, f->text, sizeof(f->text));
    copy_foreign(kernel, f->kernel, sizeof(f->kernel));
    if (*kernel)
        snprintf(r->fault_text, sizeof(r->fault_text), "kernel %.120s, launch %" PRIu64 ": %.240s",
                 kernel, f->launch, text);
    else
        snprintf(r->fault_text, sizeof(r->fault_text), "%.240s", text);
}

static void fill_job(const struct attachment *a, struct ctl_job *r) {
    const struct client *c = a->client;

    memset(r, 0, sizeof(*r));
    r->id = a->job_id;
    r->gpu = GPU_ID;
    snprintf(r->name, sizeof(r->name), "%s", a->name);
    r->pid = (uint64_t)a->pid;
    r->uid = a->uid;
    r->since_ns = (uint64_t)a->since.tv_sec * 1000000000u + (uint64_t)a->since.tv_nsec;
    if (!c) {
        snprintf(r->state, sizeof(r->state), "ending");
        return;
    }
    if (c->completion) fill_counters(c->completion, r);
    snprintf(r->state, sizeof(r->state), "%s",
             c->state != CLIENT_RUNNING ? "starting"
             : r->fault                 ? "faulted"
                                        : "running");
}

static void fill_uuid(const uint8_t *u, char *out, size_t cap) {
    snprintf(out, cap, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13],
             u[14], u[15]);
}

static void fill_gpu(const struct server *s, struct ctl_gpu *r) {
    const struct supervise *v = &s->supervise;
    const struct list *pos;

    memset(r, 0, sizeof(*r));
    r->id = GPU_ID;
    snprintf(r->device, sizeof(r->device), "%s", s->config.device);
    snprintf(r->state, sizeof(r->state), "%s",
             worker_ready(s)                  ? "ready"
             : v->state == SUPERVISE_STARTING ? "starting"
                                              : "down");
    snprintf(r->trouble, sizeof(r->trouble), "%s", v->trouble);
    r->worker_pid = (uint64_t)v->pid;
    r->worker_restarts = v->restarts;
    r->jobs = s->running_count;
    if (v->device.memory_bytes == 0) return; /* no worker was ever ready */
    copy_foreign(r->name, v->device.name, sizeof(v->device.name));
    fill_uuid(v->device.uuid, r->uuid, sizeof(r->uuid));
    snprintf(r->compute, sizeof(r->compute), "%u.%u", v->device.cc_major, v->device.cc_minor);
    r->memory_bytes = v->device.memory_bytes;
    r->sms = v->device.sm_count;
    list_each(pos, &v->attachments) {
        const struct attachment *a = list_entry(pos, struct attachment, link);

        if (a->client && a->client->completion)
            r->memory_used_bytes += atom_load_relaxed(&a->client->completion->stats.memory_bytes);
    }
}

/* Attachments are in the order of their ids: each is appended with the next number. Returns what to
 * give as `after` for the rest, 0 when nothing is left. */
static uint64_t list_jobs(struct server *s, uint64_t after, struct ctl_out *out) {
    struct list *pos;
    uint64_t last = after;

    list_each(pos, &s->supervise.attachments) {
        struct attachment *a = list_entry(pos, struct attachment, link);
        struct ctl_job job;

        if (a->job_id <= after) continue;
        fill_job(a, &job);
        if (!ctl_msg_add(out, CTL_RECORD_JOB, &job)) return last;
        last = a->job_id;
    }
    return 0;
}

static bool show_job(struct server *s, uint64_t id, struct ctl_out *out) {
    struct list *pos;

    list_each(pos, &s->supervise.attachments) {
        struct attachment *a = list_entry(pos, struct attachment, link);
        struct ctl_job job;

        if (a->job_id != id) continue;
        fill_job(a, &job);
        return ctl_msg_add(out, CTL_RECORD_JOB, &job);
    }
    return false;
}

int report_answer(struct server *s, const struct ctl_request *r, struct ctl_out *out,
                  const void **bytes, size_t *n) {
    char text[64];
    union ctl_any any;
    uint64_t next = 0;

    switch (r->verb) {
    case CTL_V_STATUS:
        fill_status(s, &any.status);
        ctl_msg_add(out, CTL_RECORD_STATUS, &any);
        break;
    case CTL_V_VERSION:
        fill_version(&any.version);
        ctl_msg_add(out, CTL_RECORD_VERSION, &any);
        break;
    case CTL_V_JOB_LIST: next = list_jobs(s, r->number, out); break;
    case CTL_V_JOB_SHOW:
        if (show_job(s, r->number, out)) break;
        snprintf(text, sizeof(text), "job %" PRIu64 ": no such job", r->number);
        return ctl_msg_refusal(out, CTL_E_NOT_FOUND, text, "see 'salusctl job list'", bytes, n);
    case CTL_V_GPU_SHOW:
        if (r->number != GPU_ID) {
            snprintf(text, sizeof(text), "gpu %" PRIu64 ": no such GPU", r->number);
            return ctl_msg_refusal(out, CTL_E_NOT_FOUND, text, "see 'salusctl gpu list'", bytes, n);
        }
        /* fall through */
    case CTL_V_GPU_LIST:
        fill_gpu(s, &any.gpu);
        ctl_msg_add(out, CTL_RECORD_GPU, &any);
        break;
    case CTL_V_COUNT: return -EINVAL;
    }
    return ctl_msg_reply(out, next, bytes, n);
}
