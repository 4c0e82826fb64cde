/* SPDX-License-Identifier: Apache-2.0
 *
 * Connects streams, scheduler and device: eligible operations become events, and the scheduler's
 * actions become submissions. Owner: the worker. Thread: its own.
 */
#ifndef DAEMON_WORKER_SCHEDULING_SCHED_LINK_H
#define DAEMON_WORKER_SCHEDULING_SCHED_LINK_H

#include "daemon/worker/client.h"

/* Reports an eligible operation to the scheduler. */
void sched_link_offer(struct worker *w, struct op *op);
/* Reports that the device has finished the operation, or that it never got there. */
void sched_link_done(struct worker *w, const struct op *op);
void sched_link_joined(struct client *c, const struct sched_spec *spec);
/* Reports that the client's current iteration is complete. */
void sched_link_boundary(struct client *c);
/* Reports that some of the client's memory cannot leave the device from now on. */
void sched_link_fixed(struct client *c);
/* Reports that the client has work while it is swapped out. */
void sched_link_wanted(struct client *c);
/* Reports the measured P and E, which are those of the client's credit from now on. */
void sched_link_measured(struct client *c);
/* Gives the scheduler the time, if it asked for a step by now. */
void sched_link_time(struct worker *w);

/* Tells the scheduler all that happened, and carries out its decisions. Called only by the loop's
 * stages and by the folders above this one. No action can call it: it is above the code that
 * carries actions out. */
void sched_link_step(struct worker *w);
/* True when a client has posted a request for memory (memory_ask.h). */
bool sched_link_asked(const struct worker *w);
/* Runs steps until all requests are answered, and resumes each that need not wait. Returns the
 * number of requests. */
unsigned sched_link_grant(struct worker *w);
/* Sets the client's weight, priority, pause, iterations and resources; P and E stay. Called at a
 * safe point only. */
void sched_link_set(struct client *c, const struct sched_spec *spec);
/* Sets other policies, in a configuration that sched_policy_check allows. Called at a safe point
 * only. */
void sched_link_policy(struct worker *w, const struct policy_config *policy);
/* Makes the scheduler forget the client's waiting operations before this function returns. */
void sched_link_left(struct client *c);

/* Gives an operation that the scheduler lets run to the device. Holds it while its client's memory
 * is moving or its lane is cleared or will shrink, and holds a kernel while one on trial comes
 * first. */
void sched_link_run(struct worker *w, struct op *op);
/* Carries out one round of moves and returns how many made progress. Tells the scheduler which
 * clients' memory is still being moved in. */
unsigned sched_link_move(struct worker *w);
/* Clears the next chunks of each client whose lane is being cleared; returns the number of clients.
 */
unsigned sched_link_clear(struct worker *w);
/* Runs the client's parked operations, or ends them when the client is dead. */
void sched_link_unpark(struct client *c);
/* Gives the device the kernels that fault isolation now allows. */
void sched_link_try(struct worker *w);
/* Ends a dead client's operations that wait for a trial to begin or to end. */
void sched_link_untry(struct client *c);

#endif
