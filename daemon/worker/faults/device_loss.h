/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of the device, which is the worker's (dev_driver_ops.lost): whose kernel did it, where
 * that can be known, and what the next worker is to know of what was under way. What did not begin
 * is taken back from its client's estate; a kernel that is one of several which may have done it is
 * noted there as a suspect.
 *
 * Owner: the worker. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_FAULTS_DEVICE_LOSS_H
#define DAEMON_WORKER_FAULTS_DEVICE_LOSS_H

struct op;
struct worker;

/* All clients of an earlier worker are here again: the scheduler may give memory to others. */
void device_loss_restored(struct worker *w);
/* An operation ended, or the device did not take it. Before its client is told anything. */
void device_loss_note(struct worker *w, const struct op *op);
/* All have ended, and this worker ends with them: the broker is told who did it; `err` is what it
 * was. */
void device_loss_say(struct worker *w, int err);

#endif
