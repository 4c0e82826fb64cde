/* SPDX-License-Identifier: Apache-2.0
 *
 * Exchanges knowledge of kernels with the broker. New knowledge is sent with each beat and before a
 * client's end is reported, a few batches at a time. The loop never waits for the broker here.
 * Owner: the worker. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_FRONT_KERNEL_LINK_H
#define DAEMON_WORKER_FRONT_KERNEL_LINK_H

#include "daemon/worker/worker.h"

/* There may be new knowledge: kernel_link_tell sends it from now on. */
static inline void kernel_link_begin(struct worker *w) {
    w->profiles.telling = true;
}
/* Sends some of the changed profiles, as far as the socket has room. w->profiles.telling stays set
 * until all are sent. */
void kernel_link_tell(struct worker *w);
/* WIRE_KERNELS: takes the broker's knowledge. The descriptor stays the caller's. */
void kernel_link_take(struct worker *w, int fd);
/* WIRE_FORGET: forgets the profiles of user msg->uid (KERNEL_SET_ANYBODY: of all users) with the
 * name msg->text ("": all names). */
void kernel_link_forget(struct worker *w, const struct wire_worker_msg *msg);

#endif
