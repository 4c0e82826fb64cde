/* SPDX-License-Identifier: Apache-2.0
 *
 * The loss of the device, which ends the worker (dev_driver_ops.lost): which job's kernel caused
 * it, as far as known, and what the next worker must know about open operations. An operation that
 * did not begin is taken back from its client's recovery state. A kernel that is one of several
 * possible causes is recorded there as a suspect.
 *
 * Owner: the worker. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_FAULTS_DEVICE_LOSS_H
#define DAEMON_WORKER_FAULTS_DEVICE_LOSS_H

struct op;
struct worker;

/* All clients of an earlier worker have arrived again: the scheduler may give memory to others. */
void device_loss_restored(struct worker *w);
/* Records an operation that failed, or that the device refused, while the device is lost. Called
 * before its client is told. */
void device_loss_note(struct worker *w, const struct op *op);
/* All operations have ended, and this worker ends too. Tells the broker the culprit and `err`, the
 * error of the device. */
void device_loss_say(struct worker *w, int err);

#endif
