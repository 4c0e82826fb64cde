/* SPDX-License-Identifier: Apache-2.0
 *
 * A request for more memory than its client was granted. Whoever asks posts the request, leaves its
 * own work as it is and returns to the loop. The request becomes an event of a step of the
 * scheduler, whose action answers it; `resume` takes the work up again when all actions of that
 * step have been carried out, in the same round of the loop (sched_link_grant). Only a patient
 * request may have to wait longer: then the client's deferred list goes on with it in the round
 * after the answer, and it asks again.
 *
 * Owner: the client. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_RESIDENCY_MEMORY_ASK_H
#define DAEMON_WORKER_RESIDENCY_MEMORY_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"

struct client;

/* A client has one request of each at a time. */
enum memory_asker {
    MEMORY_ASK_DEFERRED,  /* the first operation of its deferred list */
    MEMORY_ASK_MODULE,    /* a module that the device has placed */
    MEMORY_ASK_LIMIT,     /* a limit of CUDA's */
    MEMORY_ASK_SURVIVORS, /* blocks that outlive an iteration, at its boundary */
    MEMORY_ASK_NOBODY,    /* may not ask: only memory that is granted already is had */
};

enum memory_ask_state {
    MEMORY_ASK_NONE,
    MEMORY_ASK_POSTED, /* in worker.work.asking */
    MEMORY_ASK_TOLD,   /* an event of the step whose actions are being carried out */
    MEMORY_ASK_WAITS,  /* the scheduler answers in a later step */
    MEMORY_ASK_GRANTED,
    MEMORY_ASK_DENIED, /* so is all that is as much, until the request is over */
};

struct memory_ask {
    struct list link; /* worker.work.asking */
    struct client *client;
    void (*resume)(struct client *c);
    enum memory_ask_state state;
    bool patient;
    uint64_t more_p, more_e; /* beyond the memory in use */
    uint64_t p, e;           /* as the scheduler was asked */
};

/* A client's requests, by enum memory_asker. */
void memory_ask_init(struct memory_ask *asks, struct client *c);

void memory_ask_post(struct memory_ask *a, struct list *asking, uint64_t more_p, uint64_t more_e,
                     bool patient);
/* The request is over. */
void memory_ask_end(struct memory_ask *a);
/* The client goes: none of its requests is answered any more. */
void memory_ask_forget(struct memory_ask *asks);

/* No answer has come. */
static inline bool memory_ask_pending(const struct memory_ask *a) {
    return a->state == MEMORY_ASK_POSTED || a->state == MEMORY_ASK_TOLD ||
           a->state == MEMORY_ASK_WAITS;
}
static inline bool memory_ask_denies(const struct memory_ask *a, uint64_t p, uint64_t e) {
    return a->state == MEMORY_ASK_DENIED && p >= a->p && e >= a->e;
}

#endif
