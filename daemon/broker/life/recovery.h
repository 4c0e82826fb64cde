/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs that outlive their worker (ADR 0020). When it ends, those that it kept an estate of, and
 * that were not ended by what they did themselves, are orphans until the next worker has been
 * tried; it is then asked for one after the other, and told when there are no more. A job whose
 * workers end again and again is lost with them; all are when no worker comes.
 *
 * Owner: struct supervise. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_LIFE_RECOVERY_H
#define DAEMON_BROKER_LIFE_RECOVERY_H

#include "daemon/broker/broker.h"

/* Workers that may end in a row, each soon after it had a job; but for those that a job ended who
 * is known, and goes. */
#define RECOVERY_TRIES 3u
#define RECOVERY_SOON_NS 10000000000ull
#define RECOVERY_LOST_BYTES 320

/* On the way to the next worker. */
enum recovery_step {
    RECOVERY_REAPED,   /* nothing is left of the one before: the next is started */
    RECOVERY_OPENED,   /* it has its device */
    RECOVERY_TRIED,    /* it had a job of ours; from here on it is asked for the orphans */
    RECOVERY_RESTORED, /* it has all of them */
    RECOVERY_STEPS
};

struct recovery {
    struct broker *broker;
    struct gpu *gpu;
    struct attachment *asked; /* of which the worker's answer is awaited */
    uint32_t culprit;  /* the job whose kernel ended the device, as the worker says; 0: none */
    uint64_t since_ns; /* when the latest worker ended that had jobs, or could have had them */
    uint64_t reached_ns[RECOVERY_STEPS]; /* each of the latest start; for the log */
    unsigned waiting;                    /* orphans then */
    unsigned resuming;                   /* of these, that the next has and that do not go on yet */
    unsigned continued;                  /* of these, that do */
    bool settling;                       /* the next has all; the log is told when none resumes */
    unsigned lost;                       /* since the log said how many */
    char names[RECOVERY_LOST_BYTES];     /* jobs that are lost, and why; for the log */
};

void recovery_init(struct recovery *r, struct broker *b, struct gpu *g);

/* The worker is gone, for the reason in its trouble: what can go on is an orphan, all else is ended
 * and told. `had_jobs`: it got so far as to have any. */
void recovery_worker_gone(struct recovery *r, bool had_jobs);

void recovery_reach(struct recovery *r, enum recovery_step step);

/* Whether there are orphans that are not gone themselves. */
bool recovery_waits(const struct recovery *r);

/* Asks the worker for the next: 0. 1: there is none left, and it was told. */
int recovery_next(struct recovery *r);

/* Its answer, with the descriptors of attachments_see (-1: none came; -errno: lost for want of
 * room): 0, or ERR_PROTOCOL where it was not asked for this one. */
int recovery_attached(struct recovery *r, const struct wire_worker_msg *msg, int fds[2]);

/* A job does again no more of what its former worker did not complete, or it is detached: it went
 * on, or is lost with that worker. Nothing happens to one that is not resuming. */
void recovery_resumed(struct recovery *r, struct attachment *a);

/* There is no worker: where there is no orphan either, what is held of its device's memory is let
 * go of. */
void recovery_free_memory(struct recovery *r);

/* No worker will have the orphans. */
void recovery_lose_all(struct recovery *r, const char *why);

#endif
