/* SPDX-License-Identifier: Apache-2.0
 *
 * A list that is scanned: it has at most as many entries as there are windows.
 */
#include "daemon/broker/jobs/attachments.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/atomics.h"
#include "common/fdutil.h"

void attachments_init(struct attachments *as, const struct config *config,
                      struct channel *channel) {
    list_init(&as->list);
    slots_init(&as->slots, config);
    as->channel = channel;
}

struct attachment *attachments_find(const struct attachments *as, uint32_t job_id) {
    const struct list *pos;

    list_each(pos, &as->list) {
        struct attachment *a = list_entry(pos, struct attachment, link);

        if (a->job_id == job_id) return a;
    }
    return NULL;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static void free_attachment(struct attachments *as, struct attachment *a) {
    attachments_bind(a);
    pages_unmap_completion(a->completion);
    groups_put(&as->groups, a->group);
    groups_put(&as->groups, a->run);
    slots_put(&as->slots, a->slot);
    free(a);
}

static struct attachment *make_attachment(struct attachments *as, const struct attachments_ask *ask,
                                          int slot) {
    struct attachment *a = calloc(1, sizeof(*a));

    if (!a) return NULL;
    *a = (struct attachment){.job_id = ask->job_id,
                             .slot = slot,
                             .windows = slots_windows(&as->slots, slot),
                             .client = ask->client,
                             .submission = ask->pages->submission,
                             .completion_fd = -1,
                             .recovery_fd = -1,
                             .job = *ask->job,
                             .group = groups_take(&as->groups, ask->job->uid, ask->job->spec.group),
                             .run = groups_take(&as->groups, ask->job->uid, ask->run_name)};
    snprintf(a->run_name, sizeof(a->run_name), "%s", ask->run_name);
    a->windows.host_bytes = ask->host_bytes;
    return a;
}

/* Builds an ATTACH or RESTORE message with the job's present state. */
static struct wire_worker_msg describe(const struct attachment *a, uint32_t kind,
                                       struct wire_limits limits) {
    struct wire_worker_msg msg = {.kind = kind,
                                  .job_id = a->job_id,
                                  .pid = a->job.pid,
                                  .uid = a->job.uid,
                                  .windows = a->windows,
                                  .limits = limits,
                                  .job = a->job.spec,
                                  .group = a->group,
                                  .run = a->run};

    memcpy(msg.name, a->job.name, sizeof(msg.name));
    return msg;
}

static int tell_attach(struct attachments *as, const struct attachment *a,
                       const struct attachments_ask *ask) {
    struct wire_worker_msg msg = describe(a, WIRE_ATTACH, ask->limits);
    msg.flags = a->client ? WIRE_ATTACH_HELD : 0; /* the trial job accepts its windows at once */
    int fds[] = {ask->pages->submission_fd, ask->pages->host_fd, ask->pages->doorbell_fd};

    return channel_tell(as->channel, &msg, fds, 3);
}

/* Inserts in the order of numbers: a client that waited for a place has an old one. */
static void insert(struct attachments *as, struct attachment *a) {
    struct list *pos;

    list_each(pos,
              &as->list) if (list_entry(pos, struct attachment, link)->job_id > a->job_id) break;
    list_append(pos, &a->link);
}

int attachments_attach(struct attachments *as, const struct attachments_ask *ask, int from,
                       struct attachment **out) {
    int slot = slots_take(&as->slots, from), err;
    struct attachment *a;

    if (slot < 0) return -ENOSPC;
    a = make_attachment(as, ask, slot);
    if (!a) {
        slots_put(&as->slots, slot);
        return -ENOMEM;
    }
    err = tell_attach(as, a, ask);
    if (err < 0) {
        free_attachment(as, a);
        return err;
    }
    insert(as, a);
    *out = a;
    return 0;
}

static void take_fd(int *to, int *from) {
    fdutil_close(to);
    *to = *from;
    *from = -1;
}

int attachments_see(struct attachment *a, int *completion_fd, int *recovery_fd) {
    const struct wire_completion *c;
    int err = pages_map_completion(*completion_fd, &c);

    if (err < 0) return err;
    pages_unmap_completion(a->completion);
    a->completion = c;
    take_fd(&a->completion_fd, completion_fd);
    if (fdutil_is_memfd(*recovery_fd)) take_fd(&a->recovery_fd, recovery_fd);
    return 0;
}

int attachments_restore(struct attachments *as, struct attachment *a, const struct pages *pages,
                        struct wire_limits limits) {
    struct wire_worker_msg msg = describe(a, WIRE_RESTORE, limits);
    int fds[] = {pages->submission_fd, pages->host_fd, pages->doorbell_fd, a->completion_fd,
                 a->recovery_fd};

    a->place = ATTACHMENT_ASKED;
    return channel_tell(as->channel, &msg, fds, 5);
}

void attachments_bind(struct attachment *a) {
    fdutil_close(&a->completion_fd);
    fdutil_close(&a->recovery_fd);
}

static void tell_job(struct attachments *as, const struct attachment *a, uint32_t kind) {
    struct wire_worker_msg msg = {
        .kind = kind, .job_id = a->job_id, .job = a->job.spec, .group = a->group, .run = a->run};

    channel_tell(as->channel, &msg, NULL, 0);
}

void attachments_set(struct attachments *as, const struct attachment *a) {
    tell_job(as, a, WIRE_SET_JOB);
}

void attachments_begin(struct attachments *as, struct attachment *a) {
    a->welcomed = true;
    tell_job(as, a, WIRE_BEGIN);
}

void attachments_detach(struct attachments *as, struct attachment *a) {
    struct wire_worker_msg msg = {.kind = WIRE_DETACH, .job_id = a->job_id, .result = a->lost};

    attachments_is_used(a);
    a->client = NULL;
    a->submission = NULL; /* unmapped with the client */
    a->detached = true;
    a->detached_ns = fdutil_now_ns();
    if (a->place == ATTACHMENT_ORPHAN) return;
    channel_tell(as->channel, &msg, NULL, 0);
}

void attachments_remove(struct attachments *as, struct attachment *a) {
    list_remove(&a->link);
    free_attachment(as, a);
}

void attachments_say_how(struct attachment *a, const char *how, const char *fmt, ...) {
    va_list ap;

    if (a->how) return;
    a->how = how;
    va_start(ap, fmt);
    vsnprintf(a->why, sizeof(a->why), fmt, ap);
    va_end(ap);
}

/* ---- jobs that use the GPU ------------------------------------------------------------------- */

static bool has_done_something(const struct wire_completion *c) {
    const struct wire_stats *st = &c->stats;

    return atom_load_relaxed(&st->launches) || atom_load_relaxed(&st->copies) ||
           atom_load_relaxed(&st->ops) || atom_load_relaxed(&st->queued) ||
           atom_load_relaxed(&st->modules) || atom_load_relaxed(&st->memory_bytes) ||
           atom_load_relaxed(&st->persistent_peak_bytes) ||
           atom_load_relaxed(&st->ephemeral_peak_bytes) || atom_load_relaxed(&st->faults);
}

bool attachments_is_used(struct attachment *a) {
    if (!a->used)
        a->used = a->how || (a->submission && atom_load_relaxed(&a->submission->used)) ||
                  (a->completion && has_done_something(a->completion));
    return a->used;
}

unsigned attachments_count_used(const struct attachments *as) {
    struct list *pos;
    unsigned count = 0;

    list_each(pos, &as->list) {
        struct attachment *a = list_entry(pos, struct attachment, link);

        count += a->welcomed && a->client && attachments_is_used(a);
    }
    return count;
}

void attachments_exited(struct attachments *as, uid_t uid, uint32_t run, const char *exit) {
    struct list *pos;

    list_each(pos, &as->list) {
        struct attachment *a = list_entry(pos, struct attachment, link);

        if (a->job.uid != uid || a->job.spec.run != run || *a->exit) continue;
        snprintf(a->exit, sizeof(a->exit), "%s", exit);
    }
}

/* ---- memory of users ------------------------------------------------------------------------- */

/* Memory granted to the job; before it is admitted, its reservation. The ephemeral memory of a lane
 * counts once: for the job with the largest need, among equals for the one with the lowest number.
 */
static uint64_t granted(const struct attachments *as, const struct attachment *a) {
    const struct wire_stats *st = a->completion ? &a->completion->stats : NULL;
    uint64_t lane = st ? atom_load_relaxed(&st->lane) : 0, e;
    const struct list *pos;

    if (lane == 0) {
        if (!(a->job.spec.flags & WIRE_JOB_RESERVED)) return 0;
        return a->job.spec.persistent_bytes + a->job.spec.ephemeral_bytes;
    }
    e = atom_load_relaxed(&st->ephemeral_bytes);
    list_each(pos, &as->list) {
        const struct attachment *o = list_entry(pos, struct attachment, link);
        uint64_t other;

        if (o == a || !o->completion || atom_load_relaxed(&o->completion->stats.lane) != lane)
            continue;
        other = atom_load_relaxed(&o->completion->stats.ephemeral_bytes);
        if (other > e || (other == e && o->job_id < a->job_id)) e = 0;
    }
    return atom_load_relaxed(&st->persistent_bytes) + e;
}

uint64_t attachments_granted(const struct attachments *as, uid_t uid) {
    uint64_t sum = 0;
    const struct list *pos;

    list_each(pos, &as->list) {
        const struct attachment *a = list_entry(pos, struct attachment, link);

        if (a->job.uid == uid && a->client) sum += granted(as, a);
    }
    return sum;
}

static bool is_unknown(const struct attachment *a) {
    const struct wire_stats *st = a->completion ? &a->completion->stats : NULL;

    return !(a->job.spec.flags & WIRE_JOB_RESERVED) && (!st || atom_load_relaxed(&st->lane) == 0);
}

uint64_t attachments_load(const struct attachments *as, uint64_t device_bytes, unsigned *jobs) {
    uint64_t sum = 0;
    const struct list *pos;

    *jobs = 0;
    list_each(pos, &as->list) {
        const struct attachment *a = list_entry(pos, struct attachment, link);

        if (!a->client) continue;
        sum += is_unknown(a) ? device_bytes : granted(as, a);
        ++*jobs;
    }
    return sum;
}

uint64_t attachments_operations(const struct attachments *as, uid_t uid) {
    uint64_t sum = 0;
    const struct list *pos;

    list_each(pos, &as->list) {
        const struct attachment *a = list_entry(pos, struct attachment, link);

        if (a->job.uid == uid && a->completion)
            sum += atom_load_relaxed(&a->completion->stats.queued);
    }
    return sum;
}
