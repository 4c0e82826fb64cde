/* SPDX-License-Identifier: Apache-2.0
 *
 * A client: a connection to job.sock, from hello to its end. This file has what all steps share,
 * and how a client is closed. The steps are in handshake.h, refusals in refuse.h, a job's end in
 * disconnect.h. A client with a question instead of a hello is in question.h.
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
#include "daemon/broker/store/program_profile_store.h"

enum client_state {
    CLIENT_HELLO,     /* connected; nothing received yet */
    CLIENT_QUEUED,    /* waits for admission: places.h */
    CLIENT_WAITING,   /* waits for a ready worker */
    CLIENT_ATTACHING, /* ATTACH sent */
    CLIENT_OFFERED,   /* windows offered, no answer yet */
    CLIENT_RUNNING,
    CLIENT_ASKING, /* has a question; nothing is known of the device yet */
    CLIENT_CLOSED  /* closing its handles */
};

struct clients {
    struct list list;
    unsigned count, running; /* clients in `list`; those in state CLIENT_RUNNING */
    unsigned places;         /* number of places taken: places.h */
    uv_idle_t freed;         /* active: places became free */
    uv_idle_cb on_freed;
    void (*begin)(struct client *c); /* called for a client that got a place */
    bool stopping; /* salusd is ending: no place is given, and refusals are logged as information */
    /* Parts of the broker that the steps need. */
    uv_loop_t *loop;
    const struct config *config;
    struct gpus *gpus;
    struct users *users;
    const struct program_profile_store *profiles;
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

    struct user *user;        /* counts this client; as a job from its welcome on */
    bool said_hello;          /* a valid hello was received: the client is to become a job */
    struct wire_job asked;    /* the job as the hello requested it */
    uint16_t minor;           /* minor version of its library's protocol */
    uint32_t asked_gpu;       /* GPU requested in its hello or question, plus 1; 0: none */
    struct gpu *gpu;          /* GPU chosen so far; NULL: none yet */
    struct job job;           /* the job completed from profiles and configuration */
    struct ancestry ancestry; /* ancestors of its process, read at its hello */
    char run_name[GROUPS_NAME_BYTES]; /* runs.h */

    struct pages pages;
    uint64_t host_bytes;   /* size of its host window */
    uint64_t pinned_bytes; /* pinned memory and mapped files in use at the latest pinned_look */
    int tries;             /* number of windows tried */
    bool lending;          /* the worker is being sent a file: fd_forward.h */
    bool held;             /* nothing is read from the client, because no worker has its job */
    struct wire_file lent; /* the file being sent */
    uint32_t job_id;       /* job number of the latest attachment or queue entry; 0: none */
    bool has_place;        /* places.h */
    uint64_t queued_ns;    /* start of the client's wait for a place; 0: there was no wait */
    struct attachment *attachment;
};

/* Closes everything; the client is freed once libuv has closed its handles. */
void client_close(struct client *c);

/* Logs how the client ended, then closes it as client_close does. */
void client_ended(struct client *c, const char *how);

/* Tells its threads and the worker that no more completions will come: -errno or ERR_*. */
void client_lose(struct client *c, int err);

#endif
