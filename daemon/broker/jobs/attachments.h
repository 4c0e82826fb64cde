/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs as a GPU's worker knows them, in the order of their ids: each has a pair of windows that no
 * other there has, from ATTACH until DETACHED or the worker's end. That may be long after its
 * client is gone.
 *
 * Owner: struct gpu. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_JOBS_ATTACHMENTS_H
#define DAEMON_BROKER_JOBS_ATTACHMENTS_H

#include <stdbool.h>

#include "common/list.h"
#include "daemon/broker/config/config.h"
#include "daemon/broker/jobs/groups.h"
#include "daemon/broker/jobs/job_identity.h"
#include "daemon/broker/jobs/pages.h"
#include "daemon/broker/jobs/slots.h"
#include "daemon/broker/worker/worker.h"

#define ATTACHMENTS_TRIES 16 /* windows offered to a client before it is refused */

struct client;

/* What was last said in the log of a job's operation that does not end: overdue.h. */
struct overdue {
    uint64_t since_ns, next_age_ns;
};

/* How much of the device's time a job took between the latest two looks: share.h. */
struct load {
    uint64_t at_ns, busy_ns; /* the latest */
    uint32_t permille;
    /* Percentages among the jobs of its GPU that used the device, or waited for it, between the
     * latest two looks: what the job got, and what is due to it by its weight. One more than
     * that; 0: nothing can be said. */
    uint32_t got, due;
};

/* Who has a job. */
enum attachment_place {
    ATTACHMENT_WORKER, /* the worker */
    ATTACHMENT_ORPHAN, /* nobody: its worker ended, and the next is to have it: life/recovery.h */
    ATTACHMENT_ASKED   /* RESTORE was sent */
};

struct attachment {
    struct list link;
    uint32_t job_id;
    int slot;
    struct wire_windows windows;
    struct client *client; /* NULL: it is gone, or there never was one (life/trial.h) */
    struct job job;        /* its spec as the worker has it, or was told to */
    uint32_t group;
    uint32_t run;                     /* jobs of the user with the same may wait for one another */
    char run_name[GROUPS_NAME_BYTES]; /* runs.h */
    const struct wire_completion *completion; /* its first page, read-only, or NULL */
    const struct wire_submission *submission; /* what the client writes, while it is there */
    bool used;                                /* attachments_is_used was true once */
    /* What the next worker would need beside the client's pages; -1: not open, and it is none. */
    int completion_fd, estate_fd;
    enum attachment_place place;
    unsigned moves;    /* workers in a row that ended, each soon after it had the job */
    uint64_t taken_ns; /* when the worker took it over from the one before; 0: it is the first */
    bool resuming;     /* the worker does again what the one before it did not complete */
    uint32_t moved;    /* number of the latest wire_moved */
    struct overdue overdue;
    struct load load;
    bool welcomed;        /* it became a job that people saw */
    bool detached;        /* DETACH was sent */
    uint64_t detached_ns; /* when */
    int lost;             /* what its client was told; 0: nothing */
    const char *how;      /* what ended it, or will; NULL: it itself */
    char why[256];        /* more about it */
    char by[24];          /* who ended it, where `how` does not say that; else empty */
    char exit[16];        /* how the command of its run ended; empty: nobody said */
};

struct attachments {
    struct list list;
    struct slots slots;
    struct groups groups;
    struct channel *channel; /* to the worker */
    uint64_t loads_us;       /* CLOCK_REALTIME of the latest look at their loads; 0: none */
};

/* A job that wants to be attached. */
struct attachments_ask {
    uint32_t job_id; /* gpus_next_job's, or WIRE_TRIAL_JOB */
    const struct job *job;
    const char *run_name; /* runs.h; "": of none */
    const struct pages *pages;
    uint64_t host_bytes; /* of its host window */
    struct wire_limits limits;
    struct client *client;
};

void attachments_init(struct attachments *as, const struct config *config, struct channel *channel);
struct attachment *attachments_find(const struct attachments *as, uint32_t job_id); /* or NULL */

/* Takes the first free windows at or after slot `from` and sends ATTACH: 0 with *out. -ENOSPC: no
 * windows are left. fdutil_scarce: it was not sent. Else negative: the worker is being ended. */
int attachments_attach(struct attachments *as, const struct attachments_ask *ask, int from,
                       struct attachment **out);
/* The worker's answer, with its completion page, which is mapped, and the job's estate (-1: none).
 * Takes both over and leaves -1, unless it fails: pages_map_completion's errors. */
int attachments_see(struct attachment *a, int *completion_fd, int *estate_fd);

/* Sends RESTORE: errors as of attachments_attach, but for -ENOSPC. */
int attachments_restore(struct attachments *as, struct attachment *a, const struct pages *pages,
                        struct wire_limits limits);
/* It will end with its worker: closes what another one would need. */
void attachments_bind(struct attachment *a);

/* The client has accepted its windows: the job may be admitted. */
void attachments_begin(struct attachments *as, struct attachment *a);
/* Tells the worker of a->job.spec. Where it fails the worker is being ended. */
void attachments_set(struct attachments *as, const struct attachment *a);
/* The client is gone or wants other windows: tells the worker, which answers DETACHED; an orphan
 * goes with recovery_next. */
void attachments_detach(struct attachments *as, struct attachment *a);
/* The worker has let go of it, or is gone: its windows are free again, `a` is freed. */
void attachments_remove(struct attachments *as, struct attachment *a);

/* True for a job that people see: it made a context, which it says itself, or it had something
 * done or was ended, which it cannot hide. Frameworks have processes that only compile code and
 * look whether there is a GPU. */
bool attachments_is_used(struct attachment *a);
/* How many of these are there, with their clients. */
unsigned attachments_count_used(const struct attachments *as);

/* For history and log, how the job ended: what comes first counts. */
void attachments_say_how(struct attachment *a, const char *how, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The command of the run of user `uid` ended: as `exit` says. */
void attachments_exited(struct attachments *as, uid_t uid, uint32_t run, const char *exit);

/* Device memory that the jobs of user `uid` have, or were promised. */
uint64_t attachments_granted(const struct attachments *as, uid_t uid);
/* Device memory that all of them have or were promised, on a device of so many bytes: one of which
 * nothing is known counts as all of it, until it is measured. *jobs: how many there are. */
uint64_t attachments_load(const struct attachments *as, uint64_t device_bytes, unsigned *jobs);
/* Operations of theirs that are accepted and not complete. */
uint64_t attachments_operations(const struct attachments *as, uid_t uid);

#endif
