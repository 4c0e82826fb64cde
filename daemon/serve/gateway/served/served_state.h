/* SPDX-License-Identifier: Apache-2.0
 *
 * A served model from inside, for the files served*.c. From the bottom up: profiler, ends of
 * requests, events, batches, the step, callbacks of workers, and the model itself (served.c).
 */
#ifndef DAEMON_SERVE_GATEWAY_SERVED_SERVED_STATE_H
#define DAEMON_SERVE_GATEWAY_SERVED_SERVED_STATE_H

#include "daemon/serve/gateway/config/models_file.h"
#include "daemon/serve/gateway/profile/measure.h"
#include "daemon/serve/gateway/served/asking.h"
#include "daemon/serve/worker/model_worker.h"

/* What becomes of requests: X(NAME, text). */
#define SERVED_ENDS(X)                                                             \
    X(ANSWERED, "answered")                                                        \
    X(TIMEOUT, "timeout") /* its deadline could not be met any more */             \
    X(REFUSED, "refused") /* on arrival, for the same reason */                    \
    X(FAILED, "failed")   /* the model's program said so, or could not be asked */ \
    X(LOST, "lost")       /* two workers ended that had it */                      \
    X(GONE, "gone")       /* its client */

enum served_end {
#define X(name, text) SERVED_##name,
    SERVED_ENDS(X)
#undef X
        SERVED_END_KINDS
};

struct served_worker {
    struct served *of;
    uint32_t number; /* as the scheduler knows it */
    bool ready;      /* and the scheduler was told so */
    bool rests;      /* and was told that it is not, for a while */
    struct model_worker *worker;
    uint64_t batch, sent_ns; /* batch: 0: it has none */
    uint64_t alone_ns;       /* of the latest one, of one request, that is done; 0: not known */
    uint32_t planned;        /* requests of it as the scheduler knows it */
    uint32_t count;          /* and without those whose clients were gone */
    uint64_t ids[PLAN_BATCH_MOST];
};

struct served {
    uv_loop_t *loop;
    const struct model *model;
    const struct models_file_model *settings;
    struct model_worker_config config; /* of all its workers */
    char **argv;
    struct plan *plan;
    struct asking asking;
    struct measure measure;         /* of times alone */
    struct served_profile *profile; /* NULL: there is none */
    struct served_worker *workers;
    uint32_t ready_count;
    uv_timer_t timer;
    uv_timer_cb due; /* of the timer */
    /* When the scheduler is to be asked, as it wants it, and when what could not be is tried again;
     * PLAN_FOREVER. */
    uint64_t wake_ns, again_ns;
    /* Events that the scheduler was not told yet, and those that it was told last. `spare` of the
     * room is for what workers say. */
    struct plan_event *events, *told;
    uint32_t event_count, event_room, event_spare;
    bool stepping;
    char apps[PLAN_APPS][REQUEST_MAX_APPLICATION_BYTES + 1]; /* [0]: of none, and of too many */
    uint32_t app_count;
    uint64_t batches; /* so far: the latest one's number */
    uint64_t ends[SERVED_END_KINDS], sent, latency_ns, batch_ns, ends_of_workers;
    uint32_t stopping; /* workers that have not stopped yet, and the profiler */
    void (*done)(void *arg);
    void *done_arg;
};

#endif
