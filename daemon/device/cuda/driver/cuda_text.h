/* SPDX-License-Identifier: Apache-2.0
 *
 * Output of kernels. The driver writes the output of all jobs to the standard output of its
 * process, whenever a call waits. So a file replaces descriptor 1, and kernels that may print run
 * for one job at a time. Once such a kernel is complete, a thread makes the driver write, and gives
 * the output to the job; only then is the operation complete. Kernels that cannot print are not
 * affected.
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

/* A request to deliver the output of a stream's kernel. The caller owns it, and must not change or
 * free it until it is done. */
struct text_flush {
    struct text_flush *next;
    CUstream stream;
    _Atomic int done;
};

struct texts {
    struct context *context;
    int fd;     /* the file behind descriptor 1; its bytes up to `taken` are punched out */
    int before; /* a duplicate of the former descriptor 1 */
    int wake_fd;
    uint32_t running;  /* running kernels that may print, all of one job */
    struct list turns; /* queues that wait until there are none */
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t wake, idle;
    const struct dev_space_ops *ops; /* output of the job whose kernels run; NULL: none do */
    void *ops_arg;
    struct text_flush *first, **last; /* requests; the first may be in progress */
    off_t taken;
    bool stopping;
};

/* cuda_text_open is called before the driver is loaded. `wake_fd` is written when a request is
 * done. */
int cuda_text_open(struct texts *t);
int cuda_text_start(struct texts *t, struct context *context, int wake_fd);
/* Called when no request is pending and none will come. Harmless if it was not started. */
void cuda_text_stop(struct texts *t);
/* Restores descriptor 1. */
void cuda_text_close(struct texts *t);

/* True: a kernel that may print can begin, and its output goes to `ops`; cuda_text_leave follows.
 * False: `turn` waits in the line. The caller asks again, and succeeds when it is first in the line
 * and no kernel of another job that may print is running. */
bool cuda_text_enter(struct texts *t, const struct dev_space_ops *ops, void *arg,
                     struct list *turn);
void cuda_text_leave(struct texts *t);

/* Requests the output of this stream. Its kernels are complete, or the context is lost. */
void cuda_text_ask(struct texts *t, struct text_flush *flush, CUstream stream);
/* Waits until all requests are done. */
void cuda_text_settle(struct texts *t);

#endif
