/* SPDX-License-Identifier: Apache-2.0
 *
 * Events, actions and the configuration of a served model's scheduler (plan.h).
 */
#ifndef DAEMON_SERVE_PLAN_TYPES_PLAN_TYPES_H
#define DAEMON_SERVE_PLAN_TYPES_PLAN_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLAN_SIZES 16u
#define PLAN_BATCH_MOST 128u
#define PLAN_WORKERS 64u
#define PLAN_APPS 64u
#define PLAN_FOREVER UINT64_MAX

struct plan;

/* Zero selects the default that each member names. */
struct plan_config {
    const char *policy; /* by name; NULL: orloj */
    /* Batch sizes, ascending; the first is 1, so that a request alone can always be sent. */
    uint32_t sizes[PLAN_SIZES];
    uint32_t size_count; /* 0: sizes 1, 2, 4, 8, 16 */
    uint32_t apps;       /* number of applications; 0: 1 */
    /* Samples older than two windows are forgotten; 0: 5 min; or PLAN_FOREVER. */
    uint64_t window_ns;
    uint64_t refresh_ns; /* interval at which learnt times take effect; 0: 1 s */
    uint64_t prior_ns;   /* assumed time alone before the first sample; 0: 10 ms */
    uint64_t c0_ns;      /* initial value; a batch takes c0 + c1 k l (4.3) */
    double c1;           /* 0: 1 */
    double b_per_ms;     /* b of (4.2); 0: 1e-4 */
    /* orloj: a request's batch has one request of its own application for certain and others of
     * any; false: all of any, as in the thesis (section 4.4.3). */
    bool own;
    /* orloj: choose the batch size by the earliest deadline, as the text says; false: as Algorithm
     * 4.1 prints it (pol_orloj.c). */
    bool urgent;
    uint32_t point_milli; /* clockwork: the quantile used as its point estimate; 0: the mean */
    uint64_t ahead_ns; /* infer5: how long before its worker is free a batch is planned; 0: 10 ms */
    uint64_t grace_ns; /* infer5: how much later than planned a batch is still accepted; 0: 10 ms */
    /* Least interval at which an idle worker tries a request that is expected to be late
     * (plan_step.c); 0: never, as in the thesis. */
    uint64_t trial_ns;
    /* infer5: assume that every request of a batch takes the mean; false: the longest of the latest
     * ten batches. */
    bool plain;
};

enum plan_event_kind {
    PLAN_ARRIVED, /* arrived: a new request */
    PLAN_DONE,    /* worker, done: the worker's batch is complete, and the worker accepts another */
    PLAN_ALONE,   /* alone: the time of a request that the profiler ran alone */
    PLAN_READY,   /* worker: a new worker, without a batch */
    PLAN_LOST,    /* worker: the worker is gone; the requests of its batch are pending again */
    PLAN_CANCELLED, /* id: no client waits for the request any more */
    PLAN_TIME,      /* only the time advances, as ARM asked */
    PLAN_EVENTS
};

/* The events of one step are applied in the array's order. */
struct plan_event {
    enum plan_event_kind kind;
    uint32_t worker; /* below PLAN_WORKERS */
    union {
        uint64_t id;
        struct {
            uint64_t id; /* the caller's name, unique among pending and sent requests */
            uint64_t arrived_ns, deadline_ns;
            uint32_t app;
        } arrived;
        struct {
            uint64_t batch_ns;        /* time on the worker from SEND to the end */
            const uint64_t *alone_ns; /* per request, in the order of SEND; NULL: not known */
        } done;
        struct {
            uint64_t ns;
            uint32_t app;
        } alone;
    };
};

enum plan_action_kind {
    PLAN_SEND,    /* send the `size` requests `ids` to `worker` */
    PLAN_TIMEOUT, /* id: the request cannot meet its deadline any more */
    PLAN_REFUSE,  /* id: the request could not meet its deadline when it arrived */
    PLAN_ARM,     /* step again at `at_ns` at the latest; replaces any earlier ARM */
    PLAN_REJECT,  /* `rejected`: an event was invalid and changed nothing */
    PLAN_ACTIONS
};

/* Reasons why an event is invalid: X(NAME, text). */
/* clang-format off */
#define PLAN_FAULTS(X)                                                  \
    X(NONE, "")                                                         \
    X(KIND, "the event's kind is unknown")                           \
    X(APP, "the event's application is unknown")                              \
    X(TWICE, "a request with this id exists already")                         \
    X(NO_REQUEST, "no request has this id")                           \
    X(WORKER, "the worker's number is too large")                            \
    X(NO_WORKER, "no worker has this number")                             \
    X(READY_TWICE, "this worker is ready already")                    \
    X(IDLE, "the worker has no batch")                                  \
    X(NO_TIME, "a measured time is 0")
/* clang-format on */
enum plan_fault {
#define X(name, text) PLAN_FAULT_##name,
    PLAN_FAULTS(X)
#undef X
};

struct plan_action {
    enum plan_action_kind kind;
    uint32_t worker, size; /* for SEND */
    union {
        const uint64_t *ids; /* for SEND: `size` ids, valid until the next step */
        uint64_t id;
        uint64_t at_ns;
        struct {
            uint32_t index; /* index of the event in the array */
            enum plan_fault fault;
        } rejected;
    };
};

struct plan_actions {
    const struct plan_action *items; /* owned by the scheduler, valid until the next step */
    uint32_t count;
};

#endif
