/* SPDX-License-Identifier: Apache-2.0
 *
 * The device memory that each client can have: its reservation plus memory free beyond those of
 * others, within its user's limit. The client reads the figure from its page (cuMemGetInfo), the
 * broker reads it for NVML.
 *
 * Owner and thread: the worker's.
 */
#ifndef DAEMON_WORKER_RESIDENCY_OBTAINABLE_H
#define DAEMON_WORKER_RESIDENCY_OBTAINABLE_H

struct worker;

/* Publishes this figure again to all admitted clients. Called whenever a reservation or a limit
 * changed, before any answer from which a client could learn of the change. */
void obtainable_update(struct worker *w);

#endif
