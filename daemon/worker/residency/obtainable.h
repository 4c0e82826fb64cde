/* SPDX-License-Identifier: Apache-2.0
 *
 * The device memory that each client can have: its reservation and what is free beyond those of
 * others, within its user's limit. The client reads it from its page (cuMemGetInfo), the broker for
 * NVML.
 *
 * Owner and thread: the worker's.
 */
#ifndef DAEMON_WORKER_RESIDENCY_OBTAINABLE_H
#define DAEMON_WORKER_RESIDENCY_OBTAINABLE_H

struct worker;

/* Shows it to all clients again. Called whenever a reservation or a limit changed, before anybody
 * is answered who could tell others of that. */
void obtainable_update(struct worker *w);

#endif
