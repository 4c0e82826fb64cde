/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of kernels, between the store and the worker: each worker is given all of it, and
 * again what was imported; what it learns goes into the store. Owner: the server. Thread: the
 * loop's.
 */
#ifndef DAEMON_BROKER_WORKER_KERNEL_LINK_H
#define DAEMON_BROKER_WORKER_KERNEL_LINK_H

#include "daemon/broker/broker.h"
#include "daemon/kernels/kwire.h"

void kernel_link_open(struct server *s);

/* The worker is ready: this is its device. */
void kernel_link_ready(struct server *s);
/* WIRE_PROFILES. What is not fit to be kept is dropped, and that said once. */
void kernel_link_learn(struct server *s, struct kwire_batch *b);

/* The store has changed by hand: the worker, where one is ready, is told. */
void kernel_link_imported(struct server *s);
void kernel_link_forgotten(struct server *s, const struct kset_filter *f);

#endif
