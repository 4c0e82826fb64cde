/* SPDX-License-Identifier: Apache-2.0
 *
 * Making room in a log of records.
 */
#ifndef DAEMON_WORKER_ESTATE_RECORD_LOG_TIDY_H
#define DAEMON_WORKER_ESTATE_RECORD_LOG_TIDY_H

#include "daemon/worker/estate/record_log.h"

/* Drops what is over: operations that are complete, what was asked and is answered, what was made
 * and is gone. Keeps the latest entry. 0; -ENOMEM: nothing is dropped. The log must be whole. */
int record_log_tidy(struct log *l, const struct log_state *state);

#endif
