/* SPDX-License-Identifier: Apache-2.0
 *
 * The profiler of a model: some of its requests are run again, alone, by a worker of its own, so
 * that it is known how long requests take alone where batches hide it. "Finished requests are
 * sampled and send to the profiler to evaluate individually [...] completely off the critical path"
 * (thesis, section 4.3.2). Its worker is started with the first sample, and takes no part in
 * serving: whatever becomes of it no request feels.
 *
 * It is at work for a part of the time only, and runs at most ten samples a second: after each it
 * pauses. A new program's first run is not counted, and the sample is run once more: what is loaded
 * and made ready with it is no part of a request's time. A sample whose program ended or answered
 * FAILED is not run again.
 *
 * Owner: the served model. Thread: the loop's. Operations are called from the loop, never from
 * within a call below.
 */
#ifndef DAEMON_SERVE_GATEWAY_PROFILE_PROFILE_H
#define DAEMON_SERVE_GATEWAY_PROFILE_PROFILE_H

#include <uv.h>

#include "daemon/serve/gateway/profile/samples.h"

struct profile;

struct profile_ops {
    /* Whether a run now would be beside others of the model; for a better moment it waits a little.
     */
    bool (*crowded)(void *ctx);
    /* A request of that application ran alone. */
    void (*alone)(void *ctx, uint32_t app, uint64_t device_ns, uint64_t wall_ns);
    /* It has stopped for good, and may be destroyed here. */
    void (*stopped)(void *ctx);
};

/* The caller's, with all in it, for as long as the profiler. */
struct profile_config {
    const char *name;  /* for the log */
    char *const *argv; /* of its worker; ends with NULL */
    uint64_t limit_ns; /* that a run may take before the worker is ended */
    uint32_t part;     /* of the device's time, thousandths, that runs may take: 1 to 1000 */
};

struct profile_counts {
    uint64_t runs, run_ns;      /* that count; from sending to the answer */
    uint64_t failed, lost;      /* samples that could not be run; whose program ended */
    uint64_t replaced, crowded; /* by newer ones; for want of memory */
};

/* NULL: no memory. */
struct profile *profile_create(uv_loop_t *loop, const struct profile_config *config,
                               const struct profile_ops *ops, void *ctx);

/* Of the requests that arrive those are chosen that the profiler will want: samples.h. Of each that
 * is chosen either profile_pass follows or, once it is in a batch, profile_copy, and where that
 * gave a copy profile_ended or profile_drop, when it has ended well, or otherwise. */
bool profile_choose(struct profile *p, uint32_t app);
void profile_pass(struct profile *p, uint32_t app);
struct sample *profile_copy(struct profile *p, const struct tensor *inputs, uint32_t count,
                            uint32_t app);
void profile_ended(struct profile *p, struct sample *sample);
void profile_drop(struct profile *p, struct sample *sample);

/* It may no longer be crowded. */
void profile_look(struct profile *p);

struct profile_counts profile_counts(const struct profile *p);

/* Ends the worker; `stopped` follows, perhaps within this call where there never was one. */
void profile_stop(struct profile *p);
/* After `stopped`, or where nothing was ever chosen; accepts NULL. */
void profile_destroy(struct profile *p);

#endif
