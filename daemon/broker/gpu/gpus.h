/* SPDX-License-Identifier: Apache-2.0
 *
 * All GPUs of the broker: the choice of a GPU for a job, and queries over all of them.
 *
 * Owner: struct broker. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_GPU_GPUS_H
#define DAEMON_BROKER_GPU_GPUS_H

#include "daemon/broker/gpu/gpu.h"

#define GPUS_WHY_BYTES 160

struct gpus {
    uint32_t count;
    struct gpu items[CONFIG_GPUS_MAX];
    struct kernel_stores stores;
    uint32_t last_job; /* latest job number given, on any GPU */
};

void gpus_init(struct gpus *all, const struct config *config, uv_loop_t *loop);
void gpus_configure(struct gpus *all, const struct config *config);
void gpus_stop(struct gpus *all);
void gpus_finish(struct gpus *all);

/* The properties of a job that determine its GPU. */
struct gpus_ask {
    uint32_t asked; /* SALUS_GPU + 1; 0: any */
    uid_t uid;
    uint32_t run;       /* run of wire_job */
    uint64_t bytes;     /* device memory that the job needs; 0: unknown */
    uint64_t uid_bytes; /* limit of the job's user on each GPU; UINT64_MAX: none */
};

/* Chooses a GPU. If the job asked for one: that, or NULL if no GPU has this number. Otherwise one,
 * not given up, with a job of the same user and run, since the jobs may share memory. Otherwise the
 * best by these criteria in turn, never NULL: is ready; is not given up; has room for the job; has
 * the smallest part of its memory promised to jobs; has the fewest jobs; has the lowest number. */
struct gpu *gpus_choose(struct gpus *all, const struct gpus_ask *ask);
/* Explains that salusd has no GPU `asked` - 1. */
void gpus_print_missing(const struct gpus *all, uint32_t asked, char why[GPUS_WHY_BYTES]);

struct gpu *gpus_find(struct gpus *all, uint64_t number); /* or NULL */
/* Returns the GPU with a job of this process of the user, or NULL. */
struct gpu *gpus_of_process(struct gpus *all, uid_t uid, pid_t pid);

bool gpus_any_ready(const struct gpus *all);
/* All workers were given up. */
bool gpus_given_up(const struct gpus *all);
/* Returns the first GPU that is not ready; NULL: all are. */
const struct gpu *gpus_first_in_trouble(const struct gpus *all);

/* Prints why its worker is not ready, prefixed with "GPU 1: ..." if there are several. */
void gpus_print_trouble(const struct gpus *all, const struct gpu *g, char *out, size_t cap);

/* Returns a number for a new job. */
uint32_t gpus_next_job(struct gpus *all);
/* Returns the job with this number and its GPU, or NULL. */
struct attachment *gpus_find_job(struct gpus *all, uint64_t job_id, struct gpu **gpu);
/* Returns the job with the lowest number above `after`, without trial jobs, or NULL. */
struct attachment *gpus_job_after(struct gpus *all, uint64_t after, struct gpu **gpu);

/* The requester no longer waits for any worker's answer. */
void gpus_forget(struct gpus *all, const struct control *requester);

#endif
