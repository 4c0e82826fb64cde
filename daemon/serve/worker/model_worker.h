/* SPDX-License-Identifier: Apache-2.0
 *
 * A worker of a model: its program as a process of ours, which is started, given one batch at a
 * time, watched, ended, and started again with growing pauses. Whatever the program does, every
 * batch that was taken ends once, as done, failed or lost.
 *
 * Owner: the model. Thread: the loop's. Operations are called from the loop, never from within a
 * call below.
 */
#ifndef DAEMON_SERVE_WORKER_MODEL_WORKER_H
#define DAEMON_SERVE_WORKER_MODEL_WORKER_H

#include <uv.h>

#include "daemon/serve/worker/batch.h"
#include "daemon/serve/worker/result.h"

struct model_worker;

struct model_worker_ops {
    /* It takes batches. */
    void (*ready)(void *ctx, struct model_worker *w);
    /* The batch is done; `r` is the callee's. */
    void (*done)(void *ctx, struct model_worker *w, uint64_t number, struct result *r);
    /* It will have no answer; the worker takes others. */
    void (*failed)(void *ctx, struct model_worker *w, uint64_t number, const char *why);
    /* The program is ended, with the batch that it had; 0: it had none. It will be started again,
     * unless it was told to stop: then only a batch is a reason for this. */
    void (*lost)(void *ctx, struct model_worker *w, uint64_t number, const char *why);
    /* It has stopped for good, and may be destroyed here. */
    void (*stopped)(void *ctx, struct model_worker *w);
};

/* The caller's, with all in it, for as long as the worker. Times of 0 stand for the presets. */
struct model_worker_config {
    const char *name;  /* the model's, for the log */
    char *const *argv; /* ends with NULL; the program is looked for in PATH */
    char *const *env;  /* all of it, ends with NULL; NULL: our own */
    uint64_t hello_ns; /* the model must be ready so soon: 10 min */
    uint64_t stop_ns;  /* from STOP to SIGTERM, and from there to SIGKILL: 5 s */
    uint64_t again_first_ns, again_most_ns, again_reset_ns; /* struct backoff: 1 s, 1 min, 1 min */
};

/* NULL: no memory. */
struct model_worker *model_worker_create(uv_loop_t *loop, const struct model_worker_config *config,
                                         const struct model_worker_ops *ops, void *ctx);
/* Once. */
void model_worker_start(struct model_worker *w);

/* Gives it a batch, whose number is not 0 and is new; its tensors are copied. `limit_ns`: the
 * program is ended when it takes longer. 0; or -ENOTCONN, it is not ready, or not any more, and
 * then `lost` follows; -EBUSY, it has one;
 * -EINVAL, with why in `why`; or another -errno, such as for want of memory or descriptors: then
 * nothing was taken, and no operation will speak of it. */
int model_worker_send(struct model_worker *w, uint64_t number, const struct batch_request *requests,
                      uint32_t count, uint64_t limit_ns, struct serve_memory_why *why);

/* Lets it end, by words first: what it is at it may finish within `stop_ns`. `stopped` follows. */
void model_worker_stop(struct model_worker *w);

/* After `stopped`, or where it was never started. */
void model_worker_destroy(struct model_worker *w);

/* What the device worked for the batch that is done, in `done`, ns; 0: the program does not know.
 */
uint64_t model_worker_device_ns(const struct model_worker *w);

/* Of the process; 0: there is none. */
int model_worker_pid(const struct model_worker *w);

#endif
