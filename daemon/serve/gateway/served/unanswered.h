/* SPDX-License-Identifier: Apache-2.0
 *
 * Unanswered requests of a model, by the id that the scheduler and the batches use. An id is never
 * reused.
 *
 * Owner: the served model. Thread: the loop's.
 */
#ifndef DAEMON_SERVE_GATEWAY_SERVED_UNANSWERED_H
#define DAEMON_SERVE_GATEWAY_SERVED_UNANSWERED_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/serve/http/front_ops.h"

struct sample;
struct served;

struct asked {
    uint64_t id;
    struct served *of;
    const struct request *request; /* the front's, like `reply`, until it is answered or gone */
    struct front_reply *reply;
    uint64_t arrived_ns;
    uint32_t app;          /* the scheduler's number of the application */
    bool lost;             /* a worker ended while it had the request */
    bool chosen;           /* selected for the profiler */
    struct sample *sample; /* the copy, once the request is selected and in a batch */
};

struct unanswered_place {
    struct asked *asked; /* NULL: free */
    uint32_t turn;       /* how often the slot was used */
    uint32_t next;       /* next free slot, of a free slot */
};

/* Empty if all zeroes. */
struct unanswered {
    struct unanswered_place *places;
    uint32_t capacity, count;
    uint32_t free; /* first free slot, counted from 1; 0: none */
};

void unanswered_finish(struct unanswered *a);

/* NULL if memory is short. */
struct asked *unanswered_add(struct unanswered *a);
/* NULL if the request is answered, or its client has left. */
struct asked *unanswered_find(const struct unanswered *a, uint64_t id);
/* Also frees the request. */
void unanswered_remove(struct unanswered *a, struct asked *asked);

#endif
