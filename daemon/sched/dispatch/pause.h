/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits for the next operation of the least served job (anticipation). Such a job would lose its
 * share if others began a long kernel, or a long iteration in its lane, each time its host turns a
 * result into the next launch. So the device may idle for the job that has received least when it
 * has nothing more to run. It idles at most for `idle_turn` and for the length of the work before
 * the pause, and ever more rarely if the job does not come back in time. Once the device has idled
 * for a twentieth of the time, it idles for at most a quarter of that work (ADR 0029).
 *
 * The idea is that of anticipatory disk scheduling (Iyer and Druschel, SOSP 2001).
 */
#ifndef DAEMON_SCHED_DISPATCH_PAUSE_H
#define DAEMON_SCHED_DISPATCH_PAUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sched/core.h"

#define PAUSE_PART 4   /* divisor of the preceding work when too much time was spent on pauses */
#define PAUSE_SPENT 20 /* divisor of the time that may be spent on pauses */
#define PAUSE_DEBT_NS \
    50000000u          /* idle time at which too much was spent: a twentieth of the latest second */
#define PAUSE_MISSED 6 /* after misses, the device waits at one pause in 2^6 at least */

/* pause_passed: a step begins, `ns` after the previous one. pause_look: a step ends. */
void pause_passed(struct sched_state *st, uint64_t ns);
void pause_look(struct sched_state *st);

/* Ends the pause of an idle job, one of whose operations is about to be queued. */
void pause_over(struct sched_state *st, uint32_t job);

/* Time until which the device waits for the job, which has the turn or had the latest one; 0: it
 * does not wait. */
uint64_t pause_end(const struct sched_state *st, uint32_t job);

#endif
