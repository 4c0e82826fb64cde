/* SPDX-License-Identifier: Apache-2.0
 *
 * A worker of a model: runs its program as a child process, gives it one batch at a time, monitors
 * it, ends it, and restarts it with growing pauses. Whatever the program does, every accepted batch
 * ends once, as done, failed or lost.
 *
 * Owner: the model. Thread: the loop's. The loop calls the operations, never within a call below.
 */
#ifndef DAEMON_SERVE_WORKER_MODEL_WORKER_H
#define DAEMON_SERVE_WORKER_MODEL_WORKER_H

#include <uv.h>

#include "daemon/serve/worker/batch.h"
#include "daemon/serve/worker/result.h"

struct model_worker;

struct model_worker_ops {
    /* The worker accepts batches. */
    void (*ready)(void *ctx, struct model_worker *w);
    /* The batch is done; the callee owns `r`. */
    void (*done)(void *ctx, struct model_worker *w, uint64_t number, struct result *r);
    /* The batch gets no answer; the worker accepts others. */
    void (*failed)(void *ctx, struct model_worker *w, uint64_t number, const char *why);
    /* The program ended, and lost its batch; 0: it had none. It is restarted unless the worker was
     * told to stop; in that case this is called only if a batch is lost. */
    void (*lost)(void *ctx, struct model_worker *w, uint64_t number, const char *why);
    /* The worker has stopped for good and may be destroyed within this call. */
    void (*stopped)(void *ctx, struct model_worker *w);
};

/* Owned by the caller; must stay valid as long as the worker. A time of 0 selects the default. */
struct model_worker_config {
    const char *name;  /* the model's, for the log */
    char *const *argv; /* ends with NULL; the program is searched in PATH */
    char *const *env;  /* the whole environment, ends with NULL; NULL: our own */
    uint64_t hello_ns; /* time limit until the model is ready: 10 min */
    uint64_t stop_ns;  /* time from STOP to SIGTERM, and from SIGTERM to SIGKILL: 5 s */
    /* See struct backoff: 1 s, 1 min, 1 min. */
    uint64_t again_first_ns, again_most_ns, again_reset_ns;
};

/* NULL if memory is short. */
struct model_worker *model_worker_create(uv_loop_t *loop, const struct model_worker_config *config,
                                         const struct model_worker_ops *ops, void *ctx);
/* Called once. */
void model_worker_start(struct model_worker *w);

/* Sends a batch; its number is new and not 0; its tensors are copied. The program is killed if it
 * takes longer than `limit_ns`. Returns 0; -ENOTCONN if the worker is not ready, or no longer
 * ready, and then `lost` follows; -EBUSY if it has a batch; -EINVAL with the reason in `why`; or
 * another -errno, for example for lack of memory or descriptors. After an error the batch is not
 * accepted and no operation reports it. */
int model_worker_send(struct model_worker *w, uint64_t number, const struct batch_request *requests,
                      uint32_t count, uint64_t limit_ns, struct serve_memory_why *why);

/* Stops the worker, first by a message, so that the program can finish its batch within `stop_ns`.
 * `stopped` follows. */
void model_worker_stop(struct model_worker *w);

/* Called after `stopped`, or if the worker was never started. */
void model_worker_destroy(struct model_worker *w);

/* Device time of the completed batch in ns, for use within `done`; 0: not known. */
uint64_t model_worker_device_ns(const struct model_worker *w);

/* Process id; 0: no process. */
int model_worker_pid(const struct model_worker *w);

#endif
