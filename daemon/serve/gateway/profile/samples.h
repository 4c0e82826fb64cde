/* SPDX-License-Identifier: Apache-2.0
 *
 * Which requests are run again alone, and those that wait for it. Of each application one is chosen
 * at a time, when it arrives, and one waits at most, so that a rare application is learnt as fast
 * as a common one, and what is kept is bounded whatever clients send.
 *
 * What is learnt is how requests' times are distributed, so that nothing may be chosen by how long
 * it takes. The next request that ends, after any moment, is likelier a long one, or the neighbour
 * of one in its batch: it had more time to be under way then. The next that arrives is not. So the
 * choice is made on arrival: the first one since the place of its application became free, or since
 * who waits there is SAMPLES_OLD_NS old, whose place the newer one takes, again whatever either
 * takes. Where room is short those that wait longest give way, not those that are large.
 *
 * Owner: a profiler. Thread: its owner's. Pure but for the memory of samples.
 */
#ifndef DAEMON_SERVE_GATEWAY_PROFILE_SAMPLES_H
#define DAEMON_SERVE_GATEWAY_PROFILE_SAMPLES_H

#include <stdbool.h>

#include "daemon/serve/gateway/profile/sample.h"
#include "daemon/serve/plan/plan.h"

#define SAMPLES_OLD_NS 1000000000u     /* from then on a newer one is better */
#define SAMPLES_BYTES_MOST (72u << 20) /* of all copies; a larger one is never made */

struct samples_app {
    bool chosen;            /* one that did not end yet */
    struct sample *waiting; /* NULL: none */
    uint64_t since_ns;      /* when it began to wait */
};

struct samples {
    struct samples_app apps[PLAN_APPS];
    uint32_t next; /* whose turn it is */
    uint32_t waiting;
    uint64_t made;
    size_t bytes, bytes_most;
    uint64_t replaced, crowded; /* samples that a newer one took the place of; for want of room */
};

void samples_init(struct samples *s, size_t bytes_most);
void samples_finish(struct samples *s); /* those that wait */

/* A request of that application arrives: whether it is chosen. Then one of samples_pass and
 * samples_wait follows. */
bool samples_choose(struct samples *s, uint32_t app, uint64_t now_ns);
/* The chosen one will not be run again. */
void samples_pass(struct samples *s, uint32_t app);
/* The copy of a chosen one, which counts until samples_drop. NULL: there is no room or no memory,
 * and it is no longer chosen. */
struct sample *samples_copy(struct samples *s, const struct tensor *inputs, uint32_t count,
                            uint32_t app);
/* The chosen one has ended, and its copy waits. */
void samples_wait(struct samples *s, struct sample *sample, uint64_t now_ns);

/* One that waits, the applications in turn, now the caller's; NULL: none does. */
struct sample *samples_take(struct samples *s);
/* Frees one that does not wait; accepts NULL. */
void samples_drop(struct samples *s, struct sample *sample);

#endif
