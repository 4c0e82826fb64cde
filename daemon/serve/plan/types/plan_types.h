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

/* Zero: what is said of it. */
struct plan_config {
    const char *policy;         /* by its name; NULL: orloj */
    uint32_t sizes[PLAN_SIZES]; /* of batches, ascending, the first 1, so that a request alone can
                                   always go */
    uint32_t size_count;        /* 0: 1, 2, 4, 8, 16 */
    uint32_t apps;              /* applications are the numbers below it; 0: 1 */
    uint64_t window_ns;  /* what is older than two of it is forgotten; 0: 5 min; or PLAN_FOREVER */
    uint64_t refresh_ns; /* how often what was learnt is made use of; 0: 1 s */
    uint64_t prior_ns;   /* a request's time alone before any was seen; 0: 10 ms */
    uint64_t c0_ns;      /* a batch takes c0 + c1 k l (4.3) until it is known better */
    double c1;           /* 0: 1 */
    double b_per_ms;     /* of (4.2); 0: 1e-4 */
    bool own;    /* orloj: a request's batch has one request of its own application for certain, the
                    others of any; not: all of any, as the thesis has it (section 4.4.3) */
    bool urgent; /* orloj: the batch size by the earliest deadline, as the text has it; not: as
                   Algorithm 4.1 prints it (pol_orloj.c) */
    uint32_t point_milli; /* clockwork: the quantile that is its point estimate; 0: the mean */
    uint64_t ahead_ns;    /* infer5: before its worker is free a batch is planned; 0: 10 ms */
    uint64_t grace_ns;    /* infer5: so much later than planned it is still taken; 0: 10 ms */
    uint64_t trial_ns;    /* an idle worker tries a request that would be late by what is expected
                             (plan_step.c), so often at most; 0: never, as the thesis has it */
    bool plain; /* infer5: batches take what they would if every request took the mean; not: the
                   longest of the latest ten */
};

enum plan_event_kind {
    PLAN_ARRIVED,   /* arrived: a new request */
    PLAN_DONE,      /* worker, done: its batch is complete, and it takes another one */
    PLAN_ALONE,     /* alone: what a request took that was run alone for that purpose */
    PLAN_READY,     /* worker: there is such a one from now on, without a batch */
    PLAN_LOST,      /* worker: it is gone; requests of its batch are pending again */
    PLAN_CANCELLED, /* id: nobody waits for it any more */
    PLAN_TIME,      /* nothing but the time: what ARM asked for */
    PLAN_EVENTS
};

/* Simultaneous events are taken in the array's order. */
struct plan_event {
    enum plan_event_kind kind;
    uint32_t worker; /* below PLAN_WORKERS */
    union {
        uint64_t id;
        struct {
            uint64_t id; /* the caller's name for it, of nobody else that is pending or sent */
            uint64_t arrived_ns, deadline_ns;
            uint32_t app;
        } arrived;
        struct {
            uint64_t batch_ns;        /* from SEND to its end, on the worker */
            const uint64_t *alone_ns; /* of each request, in the order of SEND; NULL: not known */
        } done;
        struct {
            uint64_t ns;
            uint32_t app;
        } alone;
    };
};

enum plan_action_kind {
    PLAN_SEND,    /* worker: give it these `size` requests */
    PLAN_TIMEOUT, /* id: it cannot be served before its deadline any more */
    PLAN_REFUSE,  /* id: on arrival, it could not be */
    PLAN_ARM,     /* step again at `at_ns`, at the latest; replaces any earlier ARM */
    PLAN_REJECT,  /* an event could not be: `rejected`; it changed nothing */
    PLAN_ACTIONS
};

/* Why an event cannot be: X(NAME, text). */
/* clang-format off */
#define PLAN_FAULTS(X)                                                  \
    X(NONE, "")                                                         \
    X(KIND, "there is no such kind of event")                           \
    X(APP, "there is no such application")                              \
    X(TWICE, "there is such a request already")                         \
    X(NO_REQUEST, "there is no such request")                           \
    X(WORKER, "there can be no such worker")                            \
    X(NO_WORKER, "there is no such worker")                             \
    X(READY_TWICE, "there is such a worker already")                    \
    X(IDLE, "the worker has no batch")                                  \
    X(NO_TIME, "nothing takes no time")
/* clang-format on */
enum plan_fault {
#define X(name, text) PLAN_FAULT_##name,
    PLAN_FAULTS(X)
#undef X
};

struct plan_action {
    enum plan_action_kind kind;
    uint32_t worker, size; /* SEND */
    union {
        const uint64_t *ids; /* SEND: `size` of them, valid until the next step */
        uint64_t id;
        uint64_t at_ns;
        struct {
            uint32_t index; /* of the event in the array */
            enum plan_fault fault;
        } rejected;
    };
};

struct plan_actions {
    const struct plan_action *items; /* owned by the scheduler, valid until the next step */
    uint32_t count;
};

#endif
