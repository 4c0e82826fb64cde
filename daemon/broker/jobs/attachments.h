/* SPDX-License-Identifier: Apache-2.0
 *
 * The jobs that a GPU's worker knows, in the order of their ids. Each has a pair of windows that no
 * other job there has, from ATTACH until DETACHED or the worker's end, which may be long after its
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

/* State of the log records about an overdue operation of a job: overdue.h. */
struct overdue {
    uint64_t since_ns, next_age_ns;
};

/* A job's part of the device time between the latest two samples: share.h. */
struct load {
    uint64_t at_ns, busy_ns; /* values at the latest sample */
    uint32_t permille;
    /* Percentages among the jobs of its GPU that used the device, or waited for it, between the
     * latest two samples: received by the job, and due by its weight. Stored plus one; 0: unknown.
     */
    uint32_t got, due;
};

/* The holder of a job. */
enum attachment_place {
    ATTACHMENT_WORKER, /* the worker */
    ATTACHMENT_ORPHAN, /* nobody: the worker ended; the next one gets the job: life/recovery.h */
    ATTACHMENT_ASKED   /* RESTORE was sent */
};

struct attachment {
    struct list link;
    uint32_t job_id;
    int slot;
    struct wire_windows windows;
    struct client *client; /* NULL: gone, or never existed (life/trial.h) */
    struct job job;        /* job.spec is what the worker has, or was told */
    uint32_t group;
    uint32_t run; /* jobs of the user with the same number may wait for one another */
    char run_name[GROUPS_NAME_BYTES];         /* runs.h */
    const struct wire_completion *completion; /* first completion page, read-only, or NULL */
    const struct wire_submission *submission; /* the client's page, while the client exists */
    bool used;                                /* attachments_is_used has returned true */
    /* Descriptors that the next worker needs besides the client's pages; -1: not open. */
    int completion_fd, recovery_fd;
    enum attachment_place place;
    unsigned moves;    /* consecutive workers that ended soon after they had the job */
    uint64_t taken_ns; /* time at which the worker took the job over from its predecessor; 0: the
                          job had no other worker */
    bool resuming;     /* the worker is repeating what its predecessor did not complete */
    uint32_t moved;    /* number of the latest wire_moved */
    struct overdue overdue;
    struct load load;
    bool welcomed;        /* windows accepted, and WIRE_BEGIN sent; before, the job is `starting` */
    bool detached;        /* DETACH was sent */
    uint64_t detached_ns; /* time of DETACH */
    int lost;             /* error that the client was told; 0: none */
    const char *how;      /* how the job ended, or will end; NULL: by itself */
    char why[256];        /* details */
    char by[24];          /* user or part that ended the job, if `how` does not tell; else empty */
    char exit[16];        /* how the command of the job's run ended; empty: not reported */
};

struct attachments {
    struct list list;
    struct slots slots;
    struct groups groups;
    struct channel *channel; /* channel to the worker */
    uint64_t loads_us;       /* CLOCK_REALTIME of the latest load sample; 0: none */
};

/* The parameters of a new attachment. */
struct attachments_ask {
    uint32_t job_id; /* from gpus_next_job, or WIRE_TRIAL_JOB */
    const struct job *job;
    const char *run_name; /* runs.h; "": no run */
    const struct pages *pages;
    uint64_t host_bytes; /* size of its host window */
    struct wire_limits limits;
    struct client *client;
};

void attachments_init(struct attachments *as, const struct config *config, struct channel *channel);
struct attachment *attachments_find(const struct attachments *as, uint32_t job_id); /* or NULL */

/* Takes the first free windows at or after slot `from` and sends ATTACH. Returns 0 with *out.
 * -ENOSPC: no windows are left. fdutil_scarce: not sent. Other negative values: the worker is being
 * ended. */
int attachments_attach(struct attachments *as, const struct attachments_ask *ask, int from,
                       struct attachment **out);
/* Handles the worker's answer: maps the completion page, and stores the job's recovery state (-1:
 * none). On success takes both descriptors over and sets them to -1. Returns pages_map_completion's
 * errors.
 */
int attachments_see(struct attachment *a, int *completion_fd, int *recovery_fd);

/* Sends RESTORE. Returns the errors of attachments_attach, except -ENOSPC. */
int attachments_restore(struct attachments *as, struct attachment *a, const struct pages *pages,
                        struct wire_limits limits);
/* The job will end with its worker: closes the descriptors that the next one would need. */
void attachments_bind(struct attachment *a);

/* The client has accepted its windows: the job may be admitted. */
void attachments_begin(struct attachments *as, struct attachment *a);
/* Sends a->job.spec to the worker. If that fails, the worker is being ended. */
void attachments_set(struct attachments *as, const struct attachment *a);
/* The client is gone or wants other windows: tells the worker, which answers DETACHED.
 * recovery_next removes an orphan. */
void attachments_detach(struct attachments *as, struct attachment *a);
/* The worker has released the job, or is gone: frees its windows and `a`. */
void attachments_remove(struct attachments *as, struct attachment *a);

/* Returns whether users see the job: it has created a context, which it reports itself, or it has
 * used the device or was ended, which it cannot hide. Frameworks start processes that only compile
 * code and check for a GPU. */
bool attachments_is_used(struct attachment *a);
/* Number of jobs that users see, that have accepted their windows, and whose clients exist. */
unsigned attachments_count_used(const struct attachments *as);

/* Records how the job ended, for history and log; the first record wins. */
void attachments_say_how(struct attachment *a, const char *how, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The command of user `uid`'s run ended with the status in `exit`. */
void attachments_exited(struct attachments *as, uid_t uid, uint32_t run, const char *exit);

/* Device memory that the jobs of user `uid` have or were promised. */
uint64_t attachments_granted(const struct attachments *as, uid_t uid);
/* Device memory that all jobs have or were promised, on a device of this size. A job of unknown
 * needs counts as all of it until it is measured. *jobs: number of jobs. */
uint64_t attachments_load(const struct attachments *as, uint64_t device_bytes, unsigned *jobs);
/* Operations of the user's jobs that are accepted and not complete. */
uint64_t attachments_operations(const struct attachments *as, uid_t uid);

#endif
