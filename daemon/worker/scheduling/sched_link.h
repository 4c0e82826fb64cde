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

/* Tells the scheduler all that happened, and carries out what it decides. Only the loop's stages
 * and the rooms above this one call it: no action does, because none of the rooms below can. */
void sched_link_step(struct worker *w);
/* A client has posted a request for memory (memory_ask.h). */
bool sched_link_asked(const struct worker *w);
/* Steps until all requests are answered, and resumes each that need not wait: how many there were.
 */
unsigned sched_link_grant(struct worker *w);
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
 * its way still. */
unsigned sched_link_move(struct worker *w);
/* The next chunks of each client whose lane is cleared; how many clients. */
unsigned sched_link_clear(struct worker *w);
/* What was parked of the client runs, or ends when it is dead. */
void sched_link_unpark(struct client *c);
/* Kernels that may run now go on. */
void sched_link_try(struct worker *w);
/* Those of a dead client that wait for a trial, or for its end, end. */
void sched_link_untry(struct client *c);

#endif
