/* SPDX-License-Identifier: Apache-2.0
 *
 * Frees space in a log of records.
 */
#ifndef DAEMON_WORKER_RECOVERY_RECORD_LOG_TIDY_H
#define DAEMON_WORKER_RECOVERY_RECORD_LOG_TIDY_H

#include "daemon/worker/recovery/record_log.h"

/* Drops obsolete entries: completed operations, answered questions, creations of objects that no
 * longer exist. Keeps the latest entry. 0; -ENOMEM: nothing is dropped. The log must be
 * well-formed. */
int record_log_tidy(struct log *l, const struct log_state *state);

#endif
