/* SPDX-License-Identifier: Apache-2.0
 *
 * What threads of kernels said whose assertion failed. The driver keeps it until the process asks
 * or waits for something, in a context that is lost by then, and writes it to descriptor 2, where
 * the log goes: so a file is in that place for the time of single calls that do not take long. A
 * crash during one of these would be told in it.
 *
 * Owner: the device's queues. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_CUDA_QUEUE_CUDA_ASSERTION_H
#define DAEMON_DEVICE_CUDA_QUEUE_CUDA_ASSERTION_H

#include <stddef.h>

#include "daemon/device/device.h"

struct assertion {
    int fd;     /* the file, empty unless it is listened to; -1: there is none */
    int before; /* what descriptor 2 was; -1: it is */
    char *text; /* what was said: lines, each with its end; NULL: nothing */
    size_t bytes;
};

void cuda_assertion_open(struct assertion *a);
void cuda_assertion_close(struct assertion *a);

/* Around a call. What came in between, of other threads too, goes to descriptor 2 then; the
 * driver's lines are kept as well. */
void cuda_assertion_listen(struct assertion *a);
void cuda_assertion_hear(struct assertion *a);

/* Line by line to the job. */
void cuda_assertion_give(const struct assertion *a, const struct dev_space_ops *ops, void *arg);
/* How long the first line is, without its end; 0: there is none. */
int cuda_assertion_first(const struct assertion *a);

#endif
