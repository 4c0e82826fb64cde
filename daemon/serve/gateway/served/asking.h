/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests that a model was asked and that have no answer yet, by the number that the scheduler and
 * the batches know them by. A number is never used twice.
 *
 * Owner: the served model. Thread: the loop's.
 */
#ifndef DAEMON_SERVE_GATEWAY_SERVED_ASKING_H
#define DAEMON_SERVE_GATEWAY_SERVED_ASKING_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/serve/http/front_ops.h"

struct sample;
struct served;

struct asked {
    uint64_t id;
    struct served *of;
    const struct request *request; /* the front's, as the reply, until it is answered or gone */
    struct front_reply *reply;
    uint64_t arrived_ns;
    uint32_t app;          /* as the scheduler knows it */
    bool lost;             /* a worker ended that had it */
    bool chosen;           /* to be run again by the profiler */
    struct sample *sample; /* chosen, and in a batch or more: its copy */
};

struct asking_place {
    struct asked *asked; /* NULL: free */
    uint32_t turn;       /* how often it was taken */
    uint32_t next;       /* free: the next that is */
};

/* One of zeroes is empty. */
struct asking {
    struct asking_place *places;
    uint32_t capacity, count;
    uint32_t free; /* from 1; 0: none */
};

void asking_finish(struct asking *a);

/* NULL: no memory. */
struct asked *asking_add(struct asking *a);
/* NULL: it has its answer. */
struct asked *asking_find(const struct asking *a, uint64_t id);
/* Frees it. */
void asking_remove(struct asking *a, struct asked *asked);

#endif
