/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs that outlive their worker (ADR 0020). When a worker ends, jobs with a recovery state that
 * were not ended by their own actions become orphans until the trial of the next worker has
 * succeeded. The worker is then asked to restore one after the other, and told when there are no
 * more. A job whose workers end repeatedly is lost; all orphans are lost when no worker comes.
 *
 * Owner: struct supervise. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_LIFE_RECOVERY_H
#define DAEMON_BROKER_LIFE_RECOVERY_H

#include "daemon/broker/broker.h"

/* Number of workers in a row that may end soon after they got a job. Ends with a known culprit,
 * which is ended, do not count for the other jobs. */
#define RECOVERY_TRIES 3u
#define RECOVERY_SOON_NS 10000000000ull
#define RECOVERY_LOST_BYTES 320

/* Steps towards the next worker. */
enum recovery_step {
    RECOVERY_REAPED,   /* the previous process is reaped; the next is started */
    RECOVERY_OPENED,   /* the next worker has opened its device */
    RECOVERY_TRIED,    /* the trial succeeded; the worker is asked for the orphans from here on */
    RECOVERY_RESTORED, /* the worker has all orphans */
    RECOVERY_STEPS
};

struct recovery {
    struct broker *broker;
    struct gpu *gpu;
    struct attachment *asked; /* job that was sent and not answered yet */
    uint32_t culprit;  /* job whose kernel ended the device, as the worker reported; 0: none */
    uint64_t since_ns; /* end of the latest worker that had jobs, or could have had them */
    uint64_t reached_ns[RECOVERY_STEPS]; /* times of the steps in the latest start; for the log */
    /* jobs that waited for a worker when the latest one ended */
    unsigned waiting;
    unsigned resuming;  /* waiting jobs that the next worker has taken and not continued yet */
    unsigned continued; /* waiting jobs that have continued */
    bool settling;      /* the next worker has all waiting jobs; the log waits for `resuming` = 0 */
    unsigned lost;      /* number of jobs lost since the latest log record */
    char names[RECOVERY_LOST_BYTES]; /* lost jobs with reasons; for the log */
};

void recovery_init(struct recovery *r, struct broker *b, struct gpu *g);

/* Called when the worker has ended, for the reason in its trouble. Jobs that can continue become
 * orphans, all others are ended and told. `had_jobs`: the worker got far enough to have any. */
void recovery_worker_gone(struct recovery *r, bool had_jobs);

void recovery_reach(struct recovery *r, enum recovery_step step);

/* There are orphans whose clients still exist. */
bool recovery_waits(const struct recovery *r);

/* Sends the next orphan to the worker. Returns 0; or 1: there is none left, and the worker was
 * told. */
int recovery_next(struct recovery *r);

/* Handles the worker's answer, with the descriptors of attachments_see (-1: none came; -errno: lost
 * for lack of descriptors). Returns 0, or ERR_PROTOCOL if this job was not asked. */
int recovery_attached(struct recovery *r, const struct wire_worker_msg *msg, int fds[2]);

/* Called when a job has repeated all that its former worker did not complete, or is detached: it
 * continued, or is lost with that worker. Does nothing for a job that is not resuming. */
void recovery_resumed(struct recovery *r, struct attachment *a);

/* Without a worker and without orphans, releases the device memory that is held. */
void recovery_free_memory(struct recovery *r);

/* Ends all orphans: no worker will have them. */
void recovery_lose_all(struct recovery *r, const char *why);

#endif
