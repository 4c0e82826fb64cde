/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of kernels' failed assertions. The driver stores them until the process makes a query or
 * waits, in a context that is lost by then, and writes them to descriptor 2, the log. So a file
 * replaces descriptor 2 during single short calls. A crash during such a call would be reported in
 * the file.
 *
 * Owner: the device's queues. Thread: the worker's.
 */
#ifndef DAEMON_DEVICE_CUDA_QUEUE_CUDA_ASSERTION_H
#define DAEMON_DEVICE_CUDA_QUEUE_CUDA_ASSERTION_H

#include <stddef.h>

#include "daemon/device/device.h"

struct assertion {
    int fd;     /* the file, empty except while listening; -1: there is none */
    int before; /* a duplicate of descriptor 2; -1: it is in place */
    char *text; /* the messages, in complete lines; NULL: none */
    size_t bytes;
};

void cuda_assertion_open(struct assertion *a);
void cuda_assertion_close(struct assertion *a);

/* Called around a call. Text that arrived meanwhile, from other threads too, then goes to
 * descriptor 2. The driver's messages are stored as well. */
void cuda_assertion_listen(struct assertion *a);
void cuda_assertion_hear(struct assertion *a);

/* Gives the messages to the job line by line. */
void cuda_assertion_give(const struct assertion *a, const struct dev_space_ops *ops, void *arg);
/* Length of the first line, without its end; 0: there is none. */
int cuda_assertion_first(const struct assertion *a);

#endif
