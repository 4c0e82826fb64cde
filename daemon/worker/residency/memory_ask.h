/* SPDX-License-Identifier: Apache-2.0
 *
 * A request for more memory than its client was granted. The asker posts the request, leaves its
 * own work as it is and returns to the loop. The request becomes an event of a scheduler's step,
 * whose action answers it. `resume` continues the work when all actions of that step have been
 * carried out, in the same round of the loop (sched_link_grant). Only a patient request may wait
 * longer: then the client's deferred list continues in the round after the answer, and asks again.
 *
 * Owner: the client. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_RESIDENCY_MEMORY_ASK_H
#define DAEMON_WORKER_RESIDENCY_MEMORY_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"

struct client;

/* A client has at most one request of each kind. */
enum memory_asker {
    MEMORY_ASK_DEFERRED,  /* the first operation of its deferred list */
    MEMORY_ASK_MODULE,    /* a module that the device has placed */
    MEMORY_ASK_LIMIT,     /* one of CUDA's limits */
    MEMORY_ASK_SURVIVORS, /* blocks that outlive an iteration, at its boundary */
    MEMORY_ASK_NOBODY,    /* may not ask: gets only memory that is granted already */
};

enum memory_ask_state {
    MEMORY_ASK_NONE,
    MEMORY_ASK_POSTED, /* in worker.work.asking */
    MEMORY_ASK_TOLD,   /* an event of the step whose actions are being carried out */
    MEMORY_ASK_WAITS,  /* the scheduler answers in a later step */
    MEMORY_ASK_GRANTED,
    MEMORY_ASK_DENIED, /* so is any larger request, until this one is over */
};

struct memory_ask {
    struct list link; /* worker.work.asking */
    struct client *client;
    void (*resume)(struct client *c);
    enum memory_ask_state state;
    bool patient;
    uint64_t more_p, more_e; /* beyond the memory in use */
    uint64_t p, e;           /* the request as the scheduler was asked */
};

/* Initialises a client's requests, by enum memory_asker. */
void memory_ask_init(struct memory_ask *asks, struct client *c);

void memory_ask_post(struct memory_ask *a, struct list *asking, uint64_t more_p, uint64_t more_e,
                     bool patient);
/* The request is over. */
void memory_ask_end(struct memory_ask *a);
/* The client ends: none of its requests is answered any more. */
void memory_ask_forget(struct memory_ask *asks);

/* True while no answer has come. */
static inline bool memory_ask_pending(const struct memory_ask *a) {
    return a->state == MEMORY_ASK_POSTED || a->state == MEMORY_ASK_TOLD ||
           a->state == MEMORY_ASK_WAITS;
}
static inline bool memory_ask_denies(const struct memory_ask *a, uint64_t p, uint64_t e) {
    return a->state == MEMORY_ASK_DENIED && p >= a->p && e >= a->e;
}

#endif
