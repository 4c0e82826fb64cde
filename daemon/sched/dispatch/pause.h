/* SPDX-License-Identifier: Apache-2.0
 *
 * Pauses that are waited for. What a job is due would be lost to it if others began a long kernel,
 * or a long iteration in its lane, each time its host turns a result into the next launch. So the
 * job that received least is waited for when it has nothing more to run. The device may idle for
 * that, but no longer than `idle_turn` and than the work before the pause, and ever more rarely if
 * the job does not come back in time. Once the device has idled for a twentieth of the time, it
 * idles no longer than a quarter of that work (ADR 0029).
 *
 * The idea is that of anticipatory disk scheduling (Iyer and Druschel, SOSP 2001).
 */
#ifndef DAEMON_SCHED_DISPATCH_PAUSE_H
#define DAEMON_SCHED_DISPATCH_PAUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/core.h"

#define PAUSE_PART 4            /* where too much was spent: at most such a part of the work */
#define PAUSE_SPENT 20          /* the part of the time that may be spent on pauses, */
#define PAUSE_DEBT_NS 50000000u /* as of the latest second */
#define PAUSE_MISSED 6          /* of 2^6 pauses one at least is waited for */

/* A step begins: time has passed. And it ends. */
void pause_passed(struct sched_state *st, uint64_t ns);
void pause_look(struct sched_state *st);

/* An operation of the job, which has none, is about to be queued: its pause is over. */
void pause_over(struct sched_state *st, uint32_t job);

/* The time until which the job, which has the turn or had the latest one, is waited for; 0: it is
 * not. */
uint64_t pause_end(const struct sched_state *st, uint32_t job);

#endif
