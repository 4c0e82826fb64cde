/* SPDX-License-Identifier: Apache-2.0
 *
 * Between streams, scheduler and device: eligible operations become events, the scheduler's actions
 * become submissions. Owner: the worker. Thread: its own.
 */
#ifndef DAEMON_WORKER_SCHEDULING_SCHED_LINK_H
#define DAEMON_WORKER_SCHEDULING_SCHED_LINK_H

#include "daemon/worker/client.h"

/* The operation is eligible. */
void sched_link_offer(struct worker *w, struct op *op);
/* The device is done with it, or it never got there. */
void sched_link_done(struct worker *w, const struct op *op);
void sched_link_joined(struct client *c, const struct sched_spec *spec);
/* The client's current iteration is complete. */
void sched_link_boundary(struct client *c);
/* Some of its memory cannot leave the device from now on. */
void sched_link_fixed(struct client *c);
/* Swapped out, it has something to do. */
void sched_link_wanted(struct client *c);
/* Its P and E are those of its credit from now on, as measured. */
void sched_link_measured(struct client *c);
/* The scheduler looks at the time, if it asked for that. */
void sched_link_time(struct worker *w);

/* Tells the scheduler all that happened, and carries out what it decides. Not within a step. */
void sched_link_step(struct worker *w);
/* The client wants P and E to be these. SCHED_WAIT, for one that is patient alone: it hears later,
 * and asks again then (client.growth). */
enum sched_action_kind sched_link_ask(struct client *c, uint64_t p, uint64_t e, bool patient);
/* Its weight, priority, pause, iterations and what it takes are these; P and E stay. At a safe
 * point only. */
void sched_link_set(struct client *c, const struct sched_spec *spec);
/* Other policies, a configuration that sched_policy_check allows. At a safe point only. */
void sched_link_policy(struct worker *w, const struct policy_config *policy);
/* The scheduler forgets the client's waiting operations, before this returns. */
void sched_link_left(struct client *c);

/* The scheduler lets it run: to the device, unless its client's lane is not clear yet, or it is a
 * kernel and one on trial comes first. */
void sched_link_run(struct worker *w, struct op *op);
/* A round of what is to be moved: how many moves went on. The scheduler hears whose memory is on
 * its way still. Not within a step. */
unsigned sched_link_move(struct worker *w);
/* The next chunks of each client whose lane is cleared; how many clients. Not within a step. */
unsigned sched_link_clear(struct worker *w);
/* What was parked of the client runs, or ends when it is dead. */
void sched_link_unpark(struct client *c);
/* Kernels that may run now go on. Not within a step. */
void sched_link_try(struct worker *w);
/* Those of a dead client that wait for a trial, or for its end, end. */
void sched_link_untry(struct client *c);

#endif
