/* SPDX-License-Identifier: Apache-2.0
 *
 * A client: a connection to job.sock, from hello to its end. Here is what all its steps share, and
 * how it is let go of; the steps are handshake.h's, its refusals refuse.h's, its end as a job
 * ending.h's. One that has a question instead of a hello is question.h's.
 *
 * Owner: struct clients. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_CLIENTS_CLIENT_H
#define DAEMON_BROKER_CLIENTS_CLIENT_H

#include <uv.h>

#include "daemon/broker/clients/users.h"
#include "daemon/broker/expiry.h"
#include "daemon/broker/gpu/gpus.h"
#include "daemon/broker/jobs/ancestry.h"
#include "daemon/broker/jobs/history.h"
#include "daemon/broker/store/profile_store.h"

enum client_state {
    CLIENT_HELLO,     /* connected; nothing said yet */
    CLIENT_QUEUED,    /* for a place: places.h */
    CLIENT_WAITING,   /* for a worker that is ready */
    CLIENT_ATTACHING, /* ATTACH sent */
    CLIENT_OFFERED,   /* windows offered, no answer yet */
    CLIENT_RUNNING,
    CLIENT_ASKING, /* a question; nothing is known of the device yet */
    CLIENT_CLOSED  /* its handles are being closed */
};

struct clients {
    struct list list;
    unsigned count, running; /* of these, jobs */
    unsigned places;         /* that are taken: places.h */
    uv_idle_t freed;         /* active: some came free */
    uv_idle_cb on_freed;
    void (*begin)(struct client *c); /* it has a place */
    bool stopping;                   /* refusals are nobody's fault any more */
    /* What the steps need, of the broker's. */
    uv_loop_t *loop;
    const struct config *config;
    struct gpus *gpus;
    struct users *users;
    const struct profile_store *profiles;
    struct history *history;
};

struct client {
    struct list link;
    struct clients *clients;
    enum client_state state;
    int fd, pidfd; /* -1: not open */
    uv_poll_t readable, death;
    uv_poll_cb on_readable;
    struct expiry deadline;
    int handles; /* libuv handles whose close callback has not run */

    struct user *user;                /* counts it: as a job from its welcome on */
    bool said_hello;                  /* that was good: it is to become a job */
    struct wire_job asked;            /* in its hello */
    uint16_t minor;                   /* of the protocol that its library speaks */
    uint32_t asked_gpu;               /* there or in its question, 1 above its number; 0: none */
    struct gpu *gpu;                  /* chosen for it, so far; NULL: none yet */
    struct job job;                   /* with what we know beside that */
    struct ancestry ancestry;         /* of its process, when it said hello */
    char run_name[GROUPS_NAME_BYTES]; /* runs.h */

    struct pages pages;
    uint64_t host_bytes;   /* of its host window */
    uint64_t pinned_bytes; /* of that, in use when it was last looked at */
    int tries;             /* windows that were tried */
    bool lending;          /* the worker is being told of a file: lending.h */
    bool held;             /* nothing is read of it, for no worker has its job */
    struct wire_file lent; /* of which one */
    uint32_t job_id;       /* of the latest attachment, or of the queue before; 0: of neither */
    bool has_place;        /* places.h */
    uint64_t queued_ns;    /* since when it waited for that; 0: it did not */
    struct attachment *attachment;
};

/* Lets go of everything; it is freed once libuv has let go of its handles. */
void client_close(struct client *c);

/* The same, after a record of how. */
void client_ended(struct client *c, const char *how);

/* Its threads and the worker are told that nothing more will come: -errno or ERR_*. */
void client_lose(struct client *c, int err);

#endif
