/* SPDX-License-Identifier: Apache-2.0
 *
 * The order in which the kernel's OOM killer chooses among our processes.
 */
#ifndef DAEMON_WORKER_OOM_H
#define DAEMON_WORKER_OOM_H

#define OOM_AFTER_BROKER 100 /* in thousandths, the unit of oom_score_adj */

/* Makes the worker a likelier victim than its broker, which can start another worker and tell the
 * jobs. Raises this process's inherited oom_score_adj by OOM_AFTER_BROKER. Does nothing where the
 * kernel refuses. */
void oom_yield(void);

#endif
