/* SPDX-License-Identifier: Apache-2.0
 *
 * Sends one RESTORE at a time. If the worker ends during one, that job and those before it were
 * involved, and the others were not.
 */
#include "daemon/broker/life/recovery.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/broker/clients/disconnect.h"
#include "daemon/broker/clients/fd_forward.h"
#include "daemon/broker/life/inbox.h"
#include "daemon/broker/printable.h"

#define NS_PER_MS 1000000u
#define NS_PER_US 1000u
#define WHY_BYTES 224

void recovery_init(struct recovery *r, struct broker *b, struct gpu *g) {
    *r = (struct recovery){.broker = b, .gpu = g};
}

/* ---- losing a job ---------------------------------------------------------------------------- */

static bool has_failed(const struct attachment *a) {
    return a->completion && atom_load_acquire(&a->completion->fault.cuda);
}

/* True if the job's completion page says that the job ended with its former worker, because its
 * unfinished work cannot be repeated. */
static bool ended_with_worker(const struct attachment *a) {
    return a->completion &&
           atom_load_acquire(&a->completion->fault.cuda) == (uint64_t)err_cuda(ERR_WORKER_LOST);
}

/* Appends "7 (why), 9 (why)", as far as it fits. */
static void note_lost(struct recovery *r, const struct attachment *a, const char *why) {
    size_t used = strlen(r->names);

    if (a->how && strcmp(a->how, "lost") == 0) return; /* counted already */
    r->lost++;
    r->gpu->worker.lost += !has_failed(a) || ended_with_worker(a);
    snprintf(r->names + used, sizeof(r->names) - used, "%s%u (%s)", used ? ", " : "", a->job_id,
             why);
}

/* Ends a job that no worker has, at once. */
static void lose_orphan(struct recovery *r, struct attachment *a, const char *why) {
    struct client *c = a->client;

    if (c) {
        note_lost(r, a, why);
        if (!has_failed(a)) /* otherwise its fault is the reason */
            attachments_say_how(a, "lost",
                                "the GPU worker ended: %.100s; the job could not continue: %.120s",
                                r->gpu->worker.trouble, why);
    }
    inbox_end_job(r->broker, r->gpu, a);
    if (c) disconnect_worker_lost(c);
}

/* Errors that are reported to a job as its own; all others are reported as the worker's end. */
static int shown_error(int result) {
    bool fault = result <= ERR_ILLEGAL_ADDRESS && result >= ERR_ILLEGAL_INSTRUCTION;

    return fault || result == ERR_NO_MEMORY || result == ERR_DEVICE_LOST ? result : ERR_WORKER_LOST;
}

/* Loses a job that was sent to the worker, which is told too, since it may have the job. */
static void lose_asked(struct recovery *r, struct attachment *a, int err, const char *why) {
    a->place = ATTACHMENT_WORKER;
    if (!a->client) return; /* detached meanwhile */
    note_lost(r, a, why);
    attachments_say_how(a, "lost", "the new GPU worker could not continue the job: %.200s", why);
    disconnect_not_restored(a->client, shown_error(err));
}

/* ---- for the log ----------------------------------------------------------------------------- */

void recovery_reach(struct recovery *r, enum recovery_step step) {
    r->reached_ns[step] = fdutil_now_ns();
}

static unsigned long long reached_us(const struct recovery *r, enum recovery_step step) {
    return (r->reached_ns[step] - r->since_ns) / NS_PER_US;
}

/* Logs how many jobs continued, once that is known of all; `now`: of those for which it is known.
 */
static void log_recovered(struct recovery *r, bool now) {
    if (!r->settling || (r->resuming && !now)) return;
    r->settling = false;
    if (r->continued + r->lost == 0) return;
    log_info("worker",
             "event=recovered gpu=%u jobs=%u lost=%u%s%s%s after_ms=%llu reaped_us=%llu "
             "opened_us=%llu tried_us=%llu restored_us=%llu",
             r->gpu->number, r->continued, r->lost, r->lost ? " which=\"" : "", r->names,
             r->lost ? "\"" : "", reached_us(r, RECOVERY_RESTORED) / 1000,
             reached_us(r, RECOVERY_REAPED), reached_us(r, RECOVERY_OPENED),
             reached_us(r, RECOVERY_TRIED), reached_us(r, RECOVERY_RESTORED));
}

/* ---- the worker's end ------------------------------------------------------------------------ */

/* True if the job that ended the device is known, and its page says that it failed: it ends, and
 * cannot end the next worker. */
static bool is_named(const struct recovery *r) {
    const struct attachment *a = attachments_find(&r->gpu->attachments, r->culprit);

    return r->culprit && a && has_failed(a);
}

/* Counts the workers in a row that ended soon after they got the job. */
static void count_move(struct attachment *a, bool named, uint64_t now_ns) {
    bool soon =
        a->place == ATTACHMENT_ASKED || (a->taken_ns && now_ns - a->taken_ns < RECOVERY_SOON_NS);

    if (named && a->place != ATTACHMENT_ASKED)
        a->moves = 0; /* the cause of earlier ends is unknown */
    else
        a->moves = soon ? a->moves + 1 : 1;
}

/* Returns why the job ends with its worker; "": for no reason worth a report, such as a client that
 * is gone; NULL: it can continue. */
static const char *obstacle(const struct recovery *r, const struct attachment *a) {
    const struct client *c = a->client;

    if (!c || !a->welcomed || r->broker->clients.stopping) return "";
    if (a->recovery_fd < 0 || a->completion_fd < 0 || c->pages.submission_fd < 0) return "";
    if (strcmp(r->broker->config.recovery, "yes") != 0) return "recovery is off (recovery = no)";
    if (r->gpu->worker.memory_fd < 0 && r->gpu->worker.keeping.count == 0)
        return "the device's memory was lost with the worker";
    if (a->how || a->lost) return "the job was ended before";
    if (has_failed(a)) return "the job had failed before";
    if (c->lending) return "the job was sending a file to the worker";
    if (a->moves > RECOVERY_TRIES) return "several workers in a row ended with this job";
    return NULL;
}

static void end_with_worker(struct recovery *r, struct attachment *a, const char *why) {
    struct client *c = a->client;

    if (*why) {
        lose_orphan(r, a, why);
        return;
    }
    if (c) attachments_say_how(a, "lost", "the GPU worker ended: %.200s", r->gpu->worker.trouble);
    if (c && a->welcomed) note_lost(r, a, "none of its state survived");
    inbox_end_job(r->broker, r->gpu, a);
    if (c) disconnect_worker_lost(c);
}

/* Returns the first job that was not examined yet; examined ones are orphans. */
static struct attachment *first_not_orphan(const struct recovery *r) {
    struct list *pos;

    list_each(pos, &r->gpu->attachments.list) {
        struct attachment *a = list_entry(pos, struct attachment, link);

        if (a->place != ATTACHMENT_ORPHAN) return a;
    }
    return NULL;
}

static void forget_lost(struct recovery *r) {
    r->lost = 0;
    r->names[0] = '\0';
}

static void log_end(const struct recovery *r) {
    if (r->waiting + r->lost == 0) return;
    log_warn("worker", "event=jobs gpu=%u continue=%u lost=%u%s%s%s", r->gpu->number, r->waiting,
             r->lost, r->lost ? " which=\"" : "", r->names, r->lost ? "\"" : "");
}

/* Marks as lost the jobs that the ended worker was restoring and whose completion page says that
 * they ended. The others are judged like all jobs of the worker. */
static void settle_all(struct recovery *r) {
    const struct list *pos;

    list_each(pos, &r->gpu->attachments.list) {
        struct attachment *a = list_entry(pos, struct attachment, link);

        if (a->resuming && ended_with_worker(a)) recovery_resumed(r, a);
        a->resuming = false;
    }
    log_recovered(r, true);
}

void recovery_worker_gone(struct recovery *r, bool had_jobs) {
    uint64_t now = fdutil_now_ns();
    bool named = is_named(r);
    struct attachment *a;

    settle_all(r);
    r->culprit = 0;
    r->asked = NULL;
    r->continued = r->resuming = 0;
    forget_lost(r);
    if (had_jobs || !recovery_waits(r)) r->since_ns = now;
    while ((a = first_not_orphan(r))) {
        const char *why;

        count_move(a, named, now);
        why = obstacle(r, a);
        if (why) {
            end_with_worker(r, a, why);
        } else {
            a->place = ATTACHMENT_ORPHAN;
            fd_forward_hold(a->client);
        }
    }
    r->waiting = gpu_jobs(r->gpu);
    if (had_jobs) log_end(r);
    forget_lost(r); /* lost jobs were logged */
    recovery_free_memory(r);
}

void recovery_free_memory(struct recovery *r) {
    if (recovery_waits(r)) return;
    fdutil_close(&r->gpu->worker.memory_fd);
    held_memory_clear(&r->gpu->worker.keeping, r->broker->loop);
}

bool recovery_waits(const struct recovery *r) {
    const struct list *pos;

    list_each(pos, &r->gpu->attachments.list) {
        const struct attachment *a = list_entry(pos, struct attachment, link);

        if (a->place == ATTACHMENT_ORPHAN && a->client) return true;
    }
    return false;
}

void recovery_lose_all(struct recovery *r, const char *why) {
    struct list *pos, *tmp;

    list_each_safe(pos, tmp, &r->gpu->attachments.list) {
        struct attachment *a = list_entry(pos, struct attachment, link);

        if (a->place == ATTACHMENT_ORPHAN) lose_orphan(r, a, why);
    }
    if (r->lost)
        log_warn("worker", "event=jobs-lost gpu=%u lost=%u which=\"%s\"", r->gpu->number, r->lost,
                 r->names);
    forget_lost(r);
}

/* ---- the next worker ------------------------------------------------------------------------- */

static struct attachment *first_orphan(const struct recovery *r) {
    struct list *pos;

    list_each(pos, &r->gpu->attachments.list) {
        struct attachment *a = list_entry(pos, struct attachment, link);

        if (a->place == ATTACHMENT_ORPHAN) return a;
    }
    return NULL;
}

/* Sends the job to the worker. Returns 0, or 1: the job is lost, because its descriptors cannot be
 * sent. A job sent to a worker that is being ended counts as asked. */
static int ask(struct recovery *r, struct attachment *a) {
    struct client *c = a->client;
    int err = attachments_restore(&r->gpu->attachments, a, &c->pages, users_wire_limits(c->user));

    if (!fdutil_scarce(err)) {
        r->asked = a;
        return 0;
    }
    a->place = ATTACHMENT_ORPHAN;
    lose_orphan(r, a, err_text(err));
    return 1;
}

static void finish(struct recovery *r) {
    struct wire_worker_msg msg = {.kind = WIRE_RESTORED};

    channel_tell(&r->gpu->worker.channel, &msg, NULL, 0);
    recovery_reach(r, RECOVERY_RESTORED);
    r->settling = true;
    log_recovered(r, false);
}

int recovery_next(struct recovery *r) {
    struct attachment *a;

    while ((a = first_orphan(r))) {
        if (!a->client)
            inbox_end_job(r->broker, r->gpu, a);
        else if (ask(r, a) == 0)
            return 0;
    }
    finish(r);
    return 1;
}

/* Tells the client's threads of the new completion page. Returns 0 or -errno. */
static int tell_client(struct attachment *a) {
    struct wire_moved moved = {.magic = WIRE_MOVED_MAGIC, .number = a->moved + 1};
    int err = fdutil_send(a->client->fd, &moved, sizeof(moved), &a->completion_fd, 1);

    if (err < 0) return err;
    a->moved = moved.number;
    pages_move(&a->client->pages, moved.number);
    return 0;
}

static void take_over(struct recovery *r, struct attachment *a) {
    a->place = ATTACHMENT_WORKER;
    a->taken_ns = fdutil_now_ns();
    a->resuming = true;
    r->resuming++;
    if (a->client) fd_forward_resume(a->client); /* otherwise detached meanwhile */
}

void recovery_resumed(struct recovery *r, struct attachment *a) {
    char why[WHY_BYTES];

    if (!a->resuming) return;
    a->resuming = false;
    r->resuming--;
    if (ended_with_worker(a)) {
        printable_copy(why, a->completion->fault.text, sizeof(why) - 1);
        note_lost(r, a, "its unfinished work cannot be repeated");
        attachments_say_how(a, "lost", "%s", why);
    } else if (a->client) {
        r->continued++;
        r->gpu->worker.recovered++;
    }
    log_recovered(r, false);
}

int recovery_attached(struct recovery *r, const struct wire_worker_msg *msg, int fds[2]) {
    struct attachment *a = r->asked;
    char why[WHY_BYTES];
    int err = msg->result;

    if (!a || a->job_id != msg->job_id) return ERR_PROTOCOL;
    r->asked = NULL;
    snprintf(why, sizeof(why), "%.200s", *msg->text && err < 0 ? msg->text : err_text(err));
    if (err == 0) {
        if (fds[1] >= 0) fdutil_close(&fds[1]); /* we have it already */
        err = fds[0] < -1 ? fds[0] : attachments_see(a, &fds[0], &fds[1]);
        if (err == 0 && a->client) err = tell_client(a);
        snprintf(why, sizeof(why), "salusd cannot send the job its new completion page: %s",
                 err_text(err));
    }
    if (err < 0)
        lose_asked(r, a, err, why);
    else
        take_over(r, a);
    return 0;
}
