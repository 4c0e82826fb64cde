/* SPDX-License-Identifier: Apache-2.0
 *
 * Whom the kernel ends when memory is short.
 */
#ifndef DAEMON_WORKER_OOM_H
#define DAEMON_WORKER_OOM_H

#define OOM_AFTER_BROKER 100 /* of oom_score_adj's thousandths */

/* The worker before its broker, which can start another one and tells the jobs: raises this
 * process's oom_score_adj, which it inherited, by OOM_AFTER_BROKER. Where that cannot be, nothing
 * happens. */
void oom_yield(void);

#endif
