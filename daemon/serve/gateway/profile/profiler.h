/* SPDX-License-Identifier: Apache-2.0
 *
 * The profiler of a model: runs some requests again, alone, on a worker of its own, to learn how
 * long requests take alone where batches hide that. "Finished requests are sampled and send to the
 * profiler to evaluate individually [...] completely off the critical path" (thesis, section
 * 4.3.2). The worker starts with the first sample and serves no requests, so that its failures
 * affect none.
 *
 * The profiler uses only a part of the time and runs at most ten samples a second: it pauses after
 * each. The first run of a new program does not count, because it includes loading; that sample is
 * run again. A sample whose program ended or answered FAILED is not run again.
 *
 * Owner: the served model. Thread: the loop's. The loop calls the operations, never within a call
 * below.
 */
#ifndef DAEMON_SERVE_GATEWAY_PROFILE_PROFILER_H
#define DAEMON_SERVE_GATEWAY_PROFILE_PROFILER_H

#include <uv.h>

#include "daemon/serve/gateway/profile/samples.h"

struct profiler;

struct profiler_ops {
    /* Tests whether other batches of the model are running; if so, the next run waits a little for
     * a better moment. */
    bool (*crowded)(void *ctx);
    /* Reports the times of a request of that application that ran alone. */
    void (*alone)(void *ctx, uint32_t app, uint64_t device_ns, uint64_t wall_ns);
    /* The profiler has stopped for good and may be destroyed within this call. */
    void (*stopped)(void *ctx);
};

/* Owned by the caller; must stay valid as long as the profiler. */
struct profiler_config {
    const char *name;  /* for the log */
    char *const *argv; /* command of its worker; ends with NULL */
    uint64_t limit_ns; /* time limit of a run; then the worker is killed */
    uint32_t part;     /* limit of the runs' device time, in thousandths: 1 to 1000 */
};

struct profiler_counts {
    uint64_t runs, run_ns; /* counted runs; their time from sending to the answer */
    uint64_t failed, lost; /* samples that failed; samples whose program ended */
    /* Samples replaced by newer ones; samples dropped for lack of memory. */
    uint64_t replaced, crowded;
};

/* NULL if memory is short. */
struct profiler *profiler_create(uv_loop_t *loop, const struct profiler_config *config,
                                 const struct profiler_ops *ops, void *ctx);

/* profiler_choose selects arriving requests for the profiler (samples.h). For a selected one, the
 * caller calls profiler_pass to deselect it or, once it is in a batch, profiler_copy. If that
 * returned a copy, profiler_ended follows after success and profiler_drop otherwise. */
bool profiler_choose(struct profiler *p, uint32_t app);
void profiler_pass(struct profiler *p, uint32_t app);
struct sample *profiler_copy(struct profiler *p, const struct tensor *inputs, uint32_t count,
                             uint32_t app);
void profiler_ended(struct profiler *p, struct sample *sample);
void profiler_drop(struct profiler *p, struct sample *sample);

/* Called when the model may have become idle. */
void profiler_look(struct profiler *p);

struct profiler_counts profiler_counts(const struct profiler *p);

/* Ends the worker. `stopped` follows, possibly within this call if there never was a worker. */
void profiler_stop(struct profiler *p);
/* Called after `stopped`, or if no request was ever chosen; accepts NULL. */
void profiler_destroy(struct profiler *p);

#endif
