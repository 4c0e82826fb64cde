/* SPDX-License-Identifier: Apache-2.0
 *
 * The life cycle of a GPU's worker: launched, tried, READY, watched by its heartbeat, ended,
 * launched again. The worker may die at any time. Jobs that can continue on the next one do
 * (recovery.h); the others end with their worker and are told. A worker that breaks the protocol is
 * ended like a silent one. Consecutive failed starts are separated by growing pauses; after
 * worker_tries of them the worker is not restarted automatically. GPUs are independent of one
 * another.
 *
 * Owner: struct server, one for each GPU. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_LIFE_SUPERVISE_H
#define DAEMON_BROKER_LIFE_SUPERVISE_H

#include "daemon/broker/broker.h"
#include "daemon/broker/life/announce.h"
#include "daemon/broker/life/launch.h"
#include "daemon/broker/life/recovery.h"
#include "daemon/broker/life/restart.h"
#include "daemon/broker/life/silence.h"
#include "daemon/broker/life/trial.h"

struct supervise {
    struct broker *broker;
    struct gpu *gpu;
    struct server_hooks hooks;
    struct announce *announce;
    uv_poll_cb on_poll; /* receives from the worker's socket */
    bool process_open;
    bool due; /* DOWN: the next worker is due, once the previous process is reaped */
    uv_process_t process;
    /* DOWN: start of the next worker; else: deadline for the worker's next message. */
    uv_timer_t timer;
    struct silence silence;
    struct trial trial;
    struct recovery recovery;
    struct restart restart;
    uint64_t started_ns;
    bool given_memory;    /* the latest worker was given its predecessor's memory */
    bool shortage;        /* the latest worker was lost because we lacked resources */
    bool hung_up;         /* the worker closed its socket; reaping it shows the reason */
    char last_words[160]; /* the reason that the worker announced for its end; empty: none */
};

/* `on_poll` is called for each worker's socket, as in channel_open; the handle's data is `v`. */
void supervise_init(struct supervise *v, struct broker *b, struct gpu *g,
                    const struct server_hooks *hooks, struct announce *announce,
                    uv_poll_cb on_poll);
void supervise_start(struct supervise *v);
void supervise_stop(struct supervise *v);

/* The worker has spoken: restarts the measurement of its silence. */
void supervise_heard(struct supervise *v);

/* The worker passed its trial, and has got or refused each job that its predecessor left: it serves
 * new jobs from now on. */
void supervise_serve(struct supervise *v);

/* Ends the worker, for the given reason or its own last words, and schedules the next start. */
void supervise_lose(struct supervise *v, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The error means that the broker itself lacks resources at the moment. That is no failure of the
 * worker, and no reason to give it up. */
bool supervise_is_shortage(int err);

#endif
