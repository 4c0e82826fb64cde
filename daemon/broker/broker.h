/* SPDX-License-Identifier: Apache-2.0
 *
 * What the broker's files share: the server's state, its clients and its worker. All of it belongs
 * to the thread that runs the loop.
 */
#ifndef DAEMON_BROKER_BROKER_H
#define DAEMON_BROKER_BROKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>
#include <uv.h>

#include "common/list.h"
#include "daemon/broker/clients/groups.h"
#include "daemon/broker/clients/slots.h"
#include "daemon/broker/clients/users.h"
#include "daemon/broker/config/config.h"
#include "daemon/broker/server.h"
#include "daemon/broker/store/kernel_store.h"
#include "daemon/broker/store/profile.h"
#include "daemon/broker/store/store_file.h"
#include "proto/ctl.h"
#include "proto/wire.h"

#define BROKER_CONTROLS_MAX 256
#define BROKER_TRIES 16 /* windows offered to a client before it is refused */

struct server;

/* What was last said in the log of a job's operation that does not end: overdue.h. */
struct overdue {
    uint64_t since_ns, next_age_ns;
};

/* A job as the worker knows it. Lives from ATTACH until DETACHED or the worker's end, which may be
 * long after its client is gone; its windows are in use as long. */
struct attachment {
    struct list link;
    uint32_t job_id;
    int slot;
    struct client *client; /* NULL: it is gone, DETACH was sent */
    uint64_t detached_ns;  /* when */
    pid_t pid;             /* of the client, also after its end */
    uid_t uid;
    char name[64];
    struct timespec since;
    struct wire_job job; /* as the worker has it, or was told to */
    uint32_t group;
    const char *word; /* whence its P and E are: given, profile, assumed; "": not known */
    const struct wire_completion *completion; /* its first page, read-only, or NULL */
    int lost;                                 /* what its client was told; 0: nothing */
    struct overdue overdue;
    bool welcomed;   /* it became a job that people saw */
    const char *how; /* what ended it, or will; NULL: it itself */
    char why[256];   /* more about it */
};

enum client_state {
    CLIENT_HELLO,     /* connected; nothing said yet */
    CLIENT_WAITING,   /* for a worker that is ready */
    CLIENT_ATTACHING, /* ATTACH sent */
    CLIENT_OFFERED,   /* windows offered, no answer yet */
    CLIENT_RUNNING,
    CLIENT_CLOSED /* its handles are being closed */
};

struct client {
    struct list link;
    struct server *server;
    enum client_state state;
    int fd, pidfd; /* -1: not open */
    uv_poll_t readable, death;
    uv_timer_t deadline;
    int handles; /* libuv handles whose close callback has not run */

    pid_t pid; /* SO_PEERCRED's; 0 when the client lives in a pid namespace we cannot see */
    uid_t uid;
    struct user *user;     /* counts it: as a job from its welcome on */
    uint64_t host_bytes;   /* of its host window */
    uint64_t pinned_bytes; /* of that, in use when it was last looked at */
    char name[64];
    struct timespec since;      /* CLOCK_REALTIME, for people */
    struct wire_job asked, job; /* in its hello; with what we know beside that */
    const char *word;           /* see struct attachment */

    int tries;
    uint32_t job_id; /* of the latest attachment; 0 before */
    struct attachment *attachment;
    int host_fd;                        /* open to the end, to see how much of it is in use */
    int submission_fd, doorbell_fd;     /* open until CLIENT_RUNNING */
    struct wire_submission *submission; /* mapped, or NULL */
};

enum supervise_state {
    SUPERVISE_DOWN,     /* the timer starts the next worker */
    SUPERVISE_STARTING, /* launched, not READY */
    SUPERVISE_TRYING,   /* its device is open; the trial job is attached and let go: trial.h */
    SUPERVISE_READY,    /* a job would be served */
    SUPERVISE_FAILED,   /* given up after worker_tries; supervise_retry starts the next */
    SUPERVISE_STOPPED
};

/* A message the worker's socket had no room for. */
struct parcel {
    struct list link;
    struct wire_worker_msg msg;
    int fds[3], nfds; /* ours */
};

struct supervise {
    enum supervise_state state;
    int fd; /* -1: no worker */
    bool process_open;
    uv_process_t process;
    uv_poll_t poll;
    uv_timer_t timer; /* DOWN: start; else: the worker must speak before it fires */
    struct list attachments, outbox;
    struct list changes; /* that the worker was told and has not answered; see change.h */
    unsigned outbox_count;
    int poll_events;
    uint32_t next_job;
    pid_t pid;
    uint64_t started_ns, restarts, failures; /* failures: starts in a row that never got READY */
    bool served;                             /* a worker of ours was READY once */
    bool shortage;             /* it was lost for what we lacked, not for what it did */
    bool hung_up;              /* the latest one closed its socket: why shows when it is reaped */
    struct client trial;       /* see trial.h */
    uint64_t recent[10];       /* times of the latest restarts, as a ring */
    struct wire_device device; /* of the latest that opened it */
    const struct wire_board *board; /* of this worker, or NULL */
    struct wire_choice told;        /* what it was started with or told since */
    char trouble[256];              /* why there is no worker; empty when there is */
};

/* See profile_store.h. */
struct profile_store {
    struct profiles table;
    struct store_file file;
};

/* See kernel_link.h. */
struct kernel_link {
    struct kernel_store store;
    uint32_t turn;   /* of the latest WIRE_FORGET to this worker */
    bool complained; /* of a profile that could not be kept */
};

struct listener {
    int fd;
    uv_poll_t poll;
    bool open, paused;
    char path[108];
    void (*take)(struct server *s, int fd); /* a connection, which is his */
};

struct server {
    uv_loop_t loop;
    struct config config;
    const struct config_sources *sources;
    struct server_hooks hooks;
    struct slots slots;
    struct groups groups;
    struct users users;
    struct wire_choice choice; /* of policies: the configuration's, then the latest request's */
    struct supervise supervise;
    struct profile_store store;
    struct kernel_link kernels;
    struct history *history;
    struct list clients, controls;
    unsigned client_count, running_count, control_count;
    struct listener jobs, control;
    uv_async_t stop;
    uv_signal_t signals[3];
    uv_timer_t watchdog; /* systemd's */
    uv_timer_t retry;    /* accepting, after descriptors ran out */
    int lock_fd;
    int reserve_fd; /* given up when there is no other, to accept and to say so; -1: in use */
    uint64_t start_ns;
    struct timespec start;
    bool stopping, failed;
};

/* server.c: there never was a worker that served: whoever started us shall know. */
void server_fail(struct server *s);
/* Whether a descriptor that was just made is one of the last few, which no client gets:
 * the broker needs them for itself. Operators' connections get some of these. */
bool server_scarce(int fd, bool operators);
/* What to say then. */
#define SERVER_SCARCE_TEXT \
    "salusd has no descriptors left; raise LimitNOFILE of its unit, or 'ulimit -Hn'"

/* client.c */
void client_accept(struct server *s, int fd);
/* Says why on a connection that is no client, and closes it. */
void client_turn_away(int fd, int result, const char *text);
void client_worker_ready(struct server *s); /* those who waited go on */
void client_worker_lost(struct client *c);
void client_worker_failed(struct server *s); /* none will come: those who waited are told */
/* The worker's answer; takes ownership of completion_fd (-1 when none came). */
void client_attached(struct client *c, const struct wire_worker_msg *msg, int completion_fd);
void client_expelled(struct client *c, const struct wire_worker_msg *msg);
/* By an operator, `uid`. */
void client_kill(struct client *c, uid_t uid);
void client_end_all(struct server *s);
/* Its user has more than it may. */
void client_end_excess(struct client *c, const char *why);
/* Where the client sees memory in this slot. */
struct wire_windows client_windows(const struct client *c, int slot);

/* supervise.c */
void supervise_init(struct server *s);
void supervise_start(struct server *s);
void supervise_stop(struct server *s);
/* A worker that is not there is started now, also one that was given up. */
void supervise_retry(struct server *s);
uint32_t supervise_next_id(struct server *s); /* for a job */
/* Sends ATTACH; c->attachment is then there. Negative: fdutil_scarce, and it was not sent; or else
 * the worker is being ended. */
int supervise_attach(struct client *c, int slot);
/* The client is gone or wants other windows. */
void supervise_detach(struct server *s, struct attachment *a);
struct attachment *supervise_find(struct server *s, uint32_t job_id); /* or NULL */
/* Sends the worker a message, with copies of the descriptors: 0, or negative, and then it is ended;
 * but where descriptors ran out for those that go along, fdutil_scarce, the message is all that is
 * lost. */
int supervise_tell(struct server *s, const struct wire_worker_msg *msg, const int *fds, int nfds);
/* Tells the worker of a->job, or of the choice; 0, or negative, and then the worker is ended. */
int supervise_set_job(struct server *s, const struct attachment *a);
int supervise_set_policy(struct server *s, const struct wire_choice *choice);

/* spawn.c: salus-gpu as a process of ours, its end of the socket pair as descriptor 3. The handle
 * needs closing when process_open was set, also on failure. */
int spawn_worker(struct server *s, int fd, uv_exit_cb on_exit);

/* control.c */
struct control;

void control_accept(struct server *s, int fd);
void control_turn_away(int fd, enum ctl_error error, const char *text, const char *hint);
/* The answer to what this caller waits for: 0, or negative with the reason. */
void control_done(struct control *c, int result, const char *text);
void control_end_all(struct server *s);

#endif
