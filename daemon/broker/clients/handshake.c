/* SPDX-License-Identifier: Apache-2.0
 *
 * Each step ends with a message, a wait for the worker, or a refusal.
 */
#include "daemon/broker/clients/handshake.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"
#include "common/text/units.h"
#include "daemon/broker/clients/deadline.h"
#include "daemon/broker/clients/hello.h"
#include "daemon/broker/clients/places.h"
#include "daemon/broker/clients/refuse.h"
#include "daemon/broker/fd_reserve.h"
#include "daemon/broker/jobs/runs.h"
#include "proto/gen/calls.h"

#define MOVED_MINOR 6 /* libraries without wire_moved have an earlier minor version */

/* ---- windows --------------------------------------------------------------------------------- */

/* All windows are taken by other jobs, or (tries > 0) the client or the worker has mappings in
 * them. */
static void refuse_windows(struct client *c) {
    if (c->tries == 0)
        refuse_client(c, -EBUSY,
                      "all %d address windows are in use by jobs; try again when a job has ended",
                      c->gpu->attachments.slots.count);
    else
        refuse_client(c, -EADDRNOTAVAIL,
                      "salusd tried %d address windows, and the client or the worker uses "
                      "addresses in each; set window_base to an address range that is free in both",
                      c->tries);
}

/* The client keeps the job number under which it waited for a place, or else gets a new one. */
static uint32_t number_of(struct client *c) {
    return c->tries == 0 && c->queued_ns ? c->job_id : gpus_next_job(c->clients->gpus);
}

static void try_windows(struct client *c, int from) {
    struct clients *all = c->clients;
    struct attachments_ask ask = {.job_id = number_of(c),
                                  .job = &c->job,
                                  .run_name = c->run_name,
                                  .pages = &c->pages,
                                  .host_bytes = c->host_bytes,
                                  .limits = users_wire_limits(c->user),
                                  .client = c};
    int err = -ENOSPC;

    if (c->tries < ATTACHMENTS_TRIES)
        err = attachments_attach(&c->gpu->attachments, &ask, from, &c->attachment);
    if (err == -ENOSPC) {
        refuse_windows(c);
        return;
    }
    c->tries++;
    deadline_set(c, all->config->worker_timeout);
    if (err < 0) {
        c->state = CLIENT_WAITING; /* the worker is being ended; the next one will be asked */
        if (fdutil_scarce(err)) refuse_scarce(c, err);
        return;
    }
    c->state = CLIENT_ATTACHING;
    c->job_id = c->attachment->job_id;
}

/* Tries other windows, from this slot on. */
static void try_others(struct client *c, int from) {
    attachments_detach(&c->gpu->attachments, c->attachment);
    c->attachment = NULL;
    try_windows(c, from);
}

/* ---- the job --------------------------------------------------------------------------------- */

/* The rest of the timeout after the time that the client waited for a place. 0: no limit. */
static uint64_t left_of(const struct client *c, uint64_t timeout_ns) {
    uint64_t waited_ns = c->queued_ns ? fdutil_now_ns() - c->queued_ns : 0;

    if (!timeout_ns) return 0;
    return timeout_ns > waited_ns ? timeout_ns - waited_ns : 1;
}

/* Completes the client's request with what is known of the program or configured. */
static void complete_job(struct client *c) {
    const struct clients *all = c->clients;
    const struct config *config = &c->gpu->config;
    uint64_t device = c->gpu->worker.device.memory_bytes;
    struct wire_job *job = &c->job.spec;

    *job = c->asked;
    c->job.source = job->flags & WIRE_JOB_RESERVED ? "given" : "";
    if (job->weight == 0) job->weight = 1;
    if (job->admit_timeout_ns == 0) job->admit_timeout_ns = config->admit_timeout;
    job->admit_timeout_ns = left_of(c, job->admit_timeout_ns);
    if (program_profile_store_fill(all->profiles, device, c->job.uid, job))
        c->job.source = "profile";
    if ((job->flags & WIRE_JOB_RESERVED) || config->unknown_memory == 0) return;
    job->flags |= WIRE_JOB_RESERVED;
    job->persistent_bytes = config->unknown_memory;
    if (job->persistent_bytes > device) job->persistent_bytes = device;
    c->job.source = "assumed";
}

/* "A job is admitted only when it could run alone": refuses one that never could. */
static bool refuse_too_large(struct client *c) {
    const struct wire_job *job = &c->job.spec;
    uint64_t device = c->gpu->worker.device.memory_bytes;
    char p[24], e[24], d[24], text[160];

    if (job->persistent_bytes + job->ephemeral_bytes <= device) return false;
    units_print_bytes(job->persistent_bytes, p, sizeof(p));
    units_print_bytes(job->ephemeral_bytes, e, sizeof(e));
    units_print_bytes(device, d, sizeof(d));
    snprintf(text, sizeof(text),
             "%s of persistent + %s of ephemeral memory exceed the device's %s; ask for less", p, e,
             d);
    refuse_job(c, ERR_NO_MEMORY, text);
    return true;
}

/* Refuses the job if its user's jobs would exceed their device memory. */
static bool refuse_device_memory(struct client *c) {
    char why[USERS_WHY_BYTES];

    if (users_check_device(c->clients->users, c->user, c->gpu, &c->job.spec, why) == 0)
        return false;
    refuse_beyond(c, ERR_NO_MEMORY, why);
    return true;
}

/* Creates its shared memory, but not with the last descriptors. */
static int make_pages(struct client *c) {
    struct pages *p = &c->pages;
    int err = pages_create(p, c->host_bytes);

    if (err < 0) return err;
    if (!fd_reserve_fd(p->submission_fd, false) && !fd_reserve_fd(p->host_fd, false) &&
        !fd_reserve_fd(p->doorbell_fd, false))
        return 0;
    pages_finish(p);
    return -EMFILE;
}

/* The memory needs known before a GPU is chosen: as stated, or from the program profile. */
static uint64_t needed_bytes(const struct client *c) {
    struct wire_job job = c->asked;

    program_profile_store_fill(c->clients->profiles, UINT64_MAX, c->job.uid, &job);
    return job.flags & WIRE_JOB_RESERVED ? job.persistent_bytes + job.ephemeral_bytes : 0;
}

/* Returns false after refusing the client if there is no GPU for it. */
static bool choose_gpu(struct client *c) {
    struct gpus_ask ask = {.asked = c->asked_gpu,
                           .uid = c->job.uid,
                           .run = c->asked.run,
                           .bytes = needed_bytes(c),
                           .uid_bytes = c->user->limits.value[LIMIT(user_device_memory)]};
    char why[GPUS_WHY_BYTES];

    c->gpu = gpus_choose(c->clients->gpus, &ask);
    if (c->gpu) {
        c->job.gpu = (int)c->gpu->number;
        return true;
    }
    gpus_print_missing(c->clients->gpus, c->asked_gpu, why);
    refuse_job(c, -ENODEV, why);
    return false;
}

static void wait_for_worker(struct client *c) {
    c->state = CLIENT_WAITING;
    deadline_set(c, c->clients->config->worker_timeout);
}

void handshake_begin(struct client *c) {
    const struct worker *w;
    int err;

    if (!choose_gpu(c)) return;
    w = &c->gpu->worker;

    if (w->state == WORKER_FAILED) {
        refuse_given_up(c);
        return;
    }
    if (!worker_ready(w)) {
        wait_for_worker(c);
        return;
    }
    complete_job(c);
    runs_name(&c->gpu->attachments, &c->job, &c->ancestry, c->run_name);
    if (refuse_too_large(c) || refuse_device_memory(c)) return;
    err = c->pages.submission ? 0 : make_pages(c);
    if (fdutil_scarce(err))
        refuse_scarce(c, err);
    else if (err < 0)
        refuse_client(c, err, "salusd cannot create the job's shared memory: %s", err_text(err));
    else
        try_windows(c, 0);
}

/* Another GPU may be ready. */
void handshake_again(struct client *c) {
    handshake_begin(c);
}

/* ---- the worker's answer --------------------------------------------------------------------- */

static void offer(struct client *c, const struct wire_worker_msg *msg) {
    struct wire_offer o = {.magic = WIRE_MAGIC,
                           .major = WIRE_MAJOR,
                           .minor = WIRE_MINOR,
                           .job_id = c->attachment->job_id,
                           .spec_hash = CALL_SPEC_HASH,
                           .windows = c->attachment->windows,
                           .device = c->gpu->worker.device};
    int err, fds[WIRE_FD_COUNT] = {[WIRE_FD_SUBMISSION] = c->pages.submission_fd,
                                   [WIRE_FD_COMPLETION] = c->attachment->completion_fd,
                                   [WIRE_FD_HOST] = c->pages.host_fd,
                                   [WIRE_FD_DOORBELL] = c->pages.doorbell_fd};

    if (msg->device.memory_bytes)
        o.device = msg->device; /* the worker may show each job a device of its own */
    o.device.gpu = c->gpu->number;
    o.device.memory_bytes = users_shown_bytes(c->user, o.device.memory_bytes);
    c->state = CLIENT_OFFERED;
    deadline_set(c, c->clients->config->handshake_timeout);
    err = fdutil_send(c->fd, &o, sizeof(o), fds, WIRE_FD_COUNT);
    if (err == 0) return;
    c->state = CLIENT_ATTACHING; /* a refusal then takes the form of an offer */
    if (fdutil_scarce(err))
        refuse_scarce(c, err);
    else
        client_close(c);
}

/* Since protocol 1.5 the device may place its window elsewhere than proposed. */
static void take_place(struct attachment *a, const struct wire_worker_msg *msg) {
    if (msg->windows.dev_base) a->windows.dev_base = msg->windows.dev_base;
}

int handshake_attached(struct client *c, const struct wire_worker_msg *msg, int fds[2]) {
    int err = msg->result;

    if (c->state != CLIENT_ATTACHING) return ERR_PROTOCOL;
    if (err == -EEXIST) {
        slots_block(&c->gpu->attachments.slots, c->attachment->slot);
        try_others(c, c->attachment->slot + 1);
    } else if (err < 0) {
        refuse_client(c, err, "the GPU worker rejected the job: %.200s",
                      *msg->text ? msg->text : err_text(err));
    } else if (fdutil_scarce(err = attachments_see(c->attachment, &fds[0], &fds[1]))) {
        refuse_scarce(c, err);
    } else if (err < 0) {
        refuse_client(c, ERR_PROTOCOL, "the GPU worker sent an invalid completion page: %s",
                      err_text(err));
    } else {
        take_place(c->attachment, msg);
        offer(c, msg);
    }
    return 0;
}

/* ---- messages of the client ----------------------------------------------------------------- */

/* Refuses a job that exceeds its user's limits; returns true if it did. */
static bool refuse_excess(struct client *c) {
    char why[USERS_WHY_BYTES];
    int err = users_check_job(c->user, &c->asked, why);

    if (err < 0) refuse_beyond(c, err, why);
    return err < 0;
}

void handshake_hello(struct client *c, const void *msg, size_t bytes) {
    char why[HELLO_WHY_BYTES];
    struct hello h;
    int err = hello_check(msg, bytes, &h, why, sizeof(why));

    if (err < 0) {
        refuse_client(c, err, "%s", why);
        return;
    }
    c->said_hello = true;
    memcpy(c->job.name, h.name, sizeof(c->job.name));
    c->asked = c->job.spec = h.job;
    c->asked_gpu = h.gpu;
    c->minor = h.minor;
    ancestry_read(c->job.pid, &c->ancestry);
    if (h.spec_hash != CALL_SPEC_HASH)
        log_info("client", "event=spec-differs pid=%d theirs=%016llx ours=%016llx", (int)c->job.pid,
                 (unsigned long long)h.spec_hash, (unsigned long long)CALL_SPEC_HASH);
    if (!refuse_excess(c)) places_ask(c);
}

/* Returns whether to keep the descriptors with which the job could continue on another worker. The
 * last descriptors are not used for that. */
static bool may_outlive_worker(const struct client *c) {
    const struct attachment *a = c->attachment;

    return a->recovery_fd >= 0 && c->minor >= MOVED_MINOR &&
           strcmp(c->clients->config->recovery, "yes") == 0 &&
           !fd_reserve_fd(a->completion_fd, false) && !fd_reserve_fd(a->recovery_fd, false);
}

static void welcome(struct client *c) {
    struct wire_welcome w = {.magic = WIRE_MAGIC};

    expiry_stop(&c->deadline);
    if (!may_outlive_worker(c)) {
        attachments_bind(c->attachment);
        pages_close_fds(&c->pages);
    }
    c->state = CLIENT_RUNNING;
    c->clients->running++;
    users_move(c->user, USERS_HANDSHAKE, USERS_JOB);
    places_settle(c);
    attachments_begin(&c->gpu->attachments, c->attachment);
    log_burst("client", LOG_INFO,
              "event=attached job=%u pid=%d uid=%u name=\"%s\" gpu=%u slot=%d tries=%d", c->job_id,
              (int)c->job.pid, (unsigned)c->job.uid, c->job.name, c->gpu->number,
              c->attachment->slot, c->tries);
    if (fdutil_send(c->fd, &w, sizeof(w), NULL, 0) < 0) client_close(c);
}

void handshake_answer(struct client *c, const void *msg, size_t bytes) {
    char why[HELLO_WHY_BYTES];
    bool accepted;
    int err = hello_check_answer(msg, bytes, &accepted, why, sizeof(why));

    if (err < 0) {
        refuse_client(c, err, "%s", why);
    } else if (!accepted) {
        c->state = CLIENT_ATTACHING; /* the client waits for another offer, or for a refusal in that
                                        form */
        try_others(c, slots_after(&c->gpu->attachments.slots, c->attachment->slot));
    } else if (!refuse_excess(c)) {
        welcome(c);
    }
}
