/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of kernels, to and from the broker: what was learned is told with each beat and
 * before a client is said to be gone, a few batches at a time, and never so that the loop waits for
 * the broker. Owner: the worker. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_FRONT_KERNEL_LINK_H
#define DAEMON_WORKER_FRONT_KERNEL_LINK_H

#include "daemon/worker/worker.h"

/* There may be something to tell: kernel_link_tell has it from now on. */
static inline void kernel_link_begin(struct worker *w) {
    w->profiles.telling = true;
}
/* Tells some of what changed, as far as the socket has room; w->profiles.telling stays set until
 * all is. */
void kernel_link_tell(struct worker *w);
/* WIRE_KERNELS: what the broker knows. The descriptor stays the caller's. */
void kernel_link_take(struct worker *w, int fd);
/* WIRE_FORGET. */
void kernel_link_forget(struct worker *w, const struct wire_worker_msg *msg);

#endif
