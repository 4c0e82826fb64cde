/* SPDX-License-Identifier: Apache-2.0
 *
 * The internal state of a served model, for the files served*.c. From the bottom up these are:
 * profiler, ends of requests, events, batches, the step, callbacks of workers, and the model itself
 * (served.c).
 */
#ifndef DAEMON_SERVE_GATEWAY_SERVED_SERVED_STATE_H
#define DAEMON_SERVE_GATEWAY_SERVED_SERVED_STATE_H

#include "daemon/serve/gateway/config/models_file.h"
#include "daemon/serve/gateway/profile/measure.h"
#include "daemon/serve/gateway/served/unanswered.h"
#include "daemon/serve/worker/model_worker.h"

/* The ways in which requests end: X(NAME, text). */
#define SERVED_ENDS(X)                                                                          \
    X(ANSWERED, "answered")                                                                     \
    X(TIMEOUT, "timeout") /* the deadline could not be met any more */                          \
    X(REFUSED, "refused") /* on arrival: no worker could meet the deadline */                   \
    X(FAILED, "failed")   /* the model's program reported it, or the batch could not be sent */ \
    X(LOST, "lost")       /* two workers ended while they had it */                             \
    X(GONE, "gone")       /* the client hung up */

enum served_end {
#define X(name, text) SERVED_##name,
    SERVED_ENDS(X)
#undef X
        SERVED_END_KINDS
};

struct served_worker {
    struct served *of;
    uint32_t number; /* the scheduler's number */
    bool ready;      /* the program accepts batches, and the scheduler was told */
    bool rests;      /* lost for the scheduler for a while, for lack of memory */
    struct model_worker *worker;
    uint64_t batch, sent_ns; /* number of its batch, 0: none; time of sending */
    uint64_t alone_ns;       /* time of the latest completed batch of one request; 0: not known */
    uint32_t planned;        /* requests of the batch as the scheduler counts them */
    uint32_t count;          /* requests that were sent, without those whose clients were gone */
    uint64_t ids[PLAN_BATCH_MOST];
};

struct served {
    uv_loop_t *loop;
    const struct model *model;
    const struct models_file_model *settings;
    struct model_worker_config config; /* configuration of all its workers */
    char **argv;
    struct plan *plan;
    struct unanswered asking;
    struct measure measure;         /* measure of times alone */
    struct served_profile *profile; /* NULL: none */
    struct served_worker *workers;
    uint32_t ready_count;
    uv_timer_t timer;
    uv_timer_cb due; /* callback of the timer */
    /* When the scheduler wants its next step, and when failed actions are retried; PLAN_FOREVER:
     * never. */
    uint64_t wake_ns, again_ns;
    /* Events that the scheduler has not seen yet, and those of the latest step. `event_spare` slots
     * are reserved for events of workers. */
    struct plan_event *events, *told;
    uint32_t event_count, event_room, event_spare;
    bool stepping;
    /* Names of applications. [0] stands for requests without a name and for excess names. */
    char apps[PLAN_APPS][REQUEST_MAX_APPLICATION_BYTES + 1];
    uint32_t app_count;
    uint64_t batches; /* number of the latest batch */
    uint64_t ends[SERVED_END_KINDS], sent, latency_ns, batch_ns, ends_of_workers;
    uint32_t stopping; /* workers, and the profiler, that have not stopped yet */
    void (*done)(void *arg);
    void *done_arg;
};

#endif
