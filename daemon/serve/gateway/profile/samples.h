/* SPDX-License-Identifier: Apache-2.0
 *
 * Selects the requests that the profiler runs again, and stores those that wait. Per application at
 * most one request is selected at a time, on arrival, and at most one waits. A rare application is
 * therefore learnt as fast as a common one, and memory is bounded whatever clients send.
 *
 * The samples estimate the distribution of times, so the selection must not depend on how long a
 * request takes. The next request to end after a given moment is more likely a long one, or one
 * batched with a long one. Such requests were in flight longer. The next request to arrive has no
 * such bias. So the first arrival is selected after the application's slot became free, or after
 * its waiting sample is SAMPLES_OLD_NS old; the newer one then replaces it, again independently of
 * their times. If memory is short, the oldest waiting samples are dropped, not the largest.
 *
 * Owner: a profiler. Thread: its owner's. Pure except for the samples' memory.
 */
#ifndef DAEMON_SERVE_GATEWAY_PROFILE_SAMPLES_H
#define DAEMON_SERVE_GATEWAY_PROFILE_SAMPLES_H

#include <stdbool.h>

#include "daemon/serve/gateway/profile/sample.h"
#include "daemon/serve/plan/plan.h"

#define SAMPLES_OLD_NS 1000000000u /* a waiting sample of this age is replaced by a newer one */
/* Limit of all copies together; a larger sample is never copied. */
#define SAMPLES_BYTES_MOST (72u << 20)

struct samples_app {
    bool chosen;            /* a selected request has not ended yet */
    struct sample *waiting; /* NULL: none */
    uint64_t since_ns;      /* when the sample began to wait */
};

struct samples {
    struct samples_app apps[PLAN_APPS];
    uint32_t next; /* the application whose turn is next */
    uint32_t waiting;
    uint64_t made;
    size_t bytes, bytes_most;
    /* Samples replaced by newer ones; samples dropped for lack of memory. */
    uint64_t replaced, crowded;
};

void samples_init(struct samples *s, size_t bytes_most);
void samples_finish(struct samples *s); /* frees the waiting samples */

/* Called when a request of that application arrives; returns whether it is selected. samples_pass
 * or samples_wait follows. */
bool samples_choose(struct samples *s, uint32_t app, uint64_t now_ns);
/* Deselects the request. */
void samples_pass(struct samples *s, uint32_t app);
/* Copies a selected request. The copy counts towards the limit until samples_drop. NULL if memory
 * is short or the limit is reached; the request is then deselected. */
struct sample *samples_copy(struct samples *s, const struct tensor *inputs, uint32_t count,
                            uint32_t app);
/* The selected request has ended; its copy waits for a run. */
void samples_wait(struct samples *s, struct sample *sample, uint64_t now_ns);

/* Returns a waiting sample, taking turns among the applications; the caller now owns it. NULL if
 * none waits. */
struct sample *samples_take(struct samples *s);
/* Frees a sample that does not wait; accepts NULL. */
void samples_drop(struct samples *s, struct sample *sample);

#endif
