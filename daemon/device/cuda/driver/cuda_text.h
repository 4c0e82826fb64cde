/* SPDX-License-Identifier: Apache-2.0
 *
 * What kernels print. The driver writes it to the standard output of its process, of all jobs
 * together, whenever something is waited for: so a file is in that place, and kernels that may
 * print run one job's at a time. Once such a kernel is complete a thread makes the driver write,
 * and gives what came to the job; only then the operation is complete. Kernels that cannot print
 * are not concerned.
 *
 * Owner: the device. Threads: the worker's, and one of its own.
 */
#ifndef DAEMON_DEVICE_CUDA_DRIVER_CUDA_TEXT_H
#define DAEMON_DEVICE_CUDA_DRIVER_CUDA_TEXT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/list.h"
#include "daemon/device/cuda/driver/context.h"
#include "daemon/device/device.h"

/* What a stream's kernel printed is on its way to the job. The asker's, who may not change or free
 * it until it is done. */
struct text_flush {
    struct text_flush *next;
    CUstream stream;
    _Atomic int done;
};

struct texts {
    struct context *context;
    int fd;     /* the file: it is descriptor 1; its beginning, up to `taken`, is no more */
    int before; /* what descriptor 1 was */
    int wake_fd;
    uint32_t running;  /* kernels that may print, all of one job */
    struct list turns; /* of others that wait until there are none */
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t wake, idle;
    const struct dev_space_ops *ops; /* the job's whose kernels run; NULL: none do */
    void *ops_arg;
    struct text_flush *first, **last; /* asked for, the first of which may be under way */
    off_t taken;
    bool stopping;
};

/* Before the driver is loaded. `wake_fd` of cuda_text_start is written when something is done. */
int cuda_text_open(struct texts *t);
int cuda_text_start(struct texts *t, struct context *context, int wake_fd);
/* Nothing is asked for, nor will be. Harmless where it was not started. */
void cuda_text_stop(struct texts *t);
/* Descriptor 1 is what it was. */
void cuda_text_close(struct texts *t);

/* A kernel that may print can begin: cuda_text_leave follows. Else `turn` is in the line, and who
 * asks again when it heads the line and no job's kernels run has it. What comes from now on is for
 * `ops`. */
bool cuda_text_enter(struct texts *t, const struct dev_space_ops *ops, void *arg,
                     struct list *turn);
void cuda_text_leave(struct texts *t);

/* The kernels of this stream are complete, or the context is lost. */
void cuda_text_ask(struct texts *t, struct text_flush *flush, CUstream stream);
/* All that was asked for is done. */
void cuda_text_settle(struct texts *t);

#endif
