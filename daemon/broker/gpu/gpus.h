/* SPDX-License-Identifier: Apache-2.0
 *
 * All GPUs of the broker: which of them a job gets, and what is asked of all.
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
    uint32_t last_job; /* whichever it is on */
};

void gpus_init(struct gpus *all, const struct config *config, uv_loop_t *loop);
void gpus_configure(struct gpus *all, const struct config *config);
void gpus_stop(struct gpus *all);
void gpus_finish(struct gpus *all);

/* What is known of a job when its GPU is chosen. */
struct gpus_ask {
    uint32_t asked; /* SALUS_GPU + 1; 0: any */
    uid_t uid;
    uint32_t run;       /* of wire_job */
    uint64_t bytes;     /* of device memory that it needs; 0: not known */
    uint64_t uid_bytes; /* most that its user may have of a GPU; UINT64_MAX: no bound */
};

/* The one that it asked for, or NULL where there is none. Else the one that has a job of the same
 * run, for they may share memory. Else, of those that are ready (where none is: that are not given
 * up), and of these of those that have room for it, the one with the smallest part of its memory
 * promised to jobs, then with the fewest jobs, then with the lowest number. */
struct gpu *gpus_choose(struct gpus *all, const struct gpus_ask *ask);
/* Why there is no GPU that was asked for. */
void gpus_print_missing(const struct gpus *all, uint32_t asked, char why[GPUS_WHY_BYTES]);

struct gpu *gpus_find(struct gpus *all, uint64_t number); /* or NULL */
/* The one with a job of this process of the user, or NULL. */
struct gpu *gpus_of_process(struct gpus *all, uid_t uid, pid_t pid);

bool gpus_any_ready(const struct gpus *all);
/* No worker of any will come. */
bool gpus_given_up(const struct gpus *all);
/* The first that is not ready; NULL: all are. */
const struct gpu *gpus_first_in_trouble(const struct gpus *all);

/* Why its worker is not ready: "GPU 1: ..." where there are several. */
void gpus_print_trouble(const struct gpus *all, const struct gpu *g, char *out, size_t cap);

/* A number for a job. */
uint32_t gpus_next_job(struct gpus *all);
/* The job with this number and its GPU, or NULL. */
struct attachment *gpus_find_job(struct gpus *all, uint64_t job_id, struct gpu **gpu);
/* The one with the lowest number above `after`, but our own; or NULL. */
struct attachment *gpus_job_after(struct gpus *all, uint64_t after, struct gpu **gpu);

/* Nobody waits there any more for what workers were told. */
void gpus_forget(struct gpus *all, const struct control *requester);

#endif
