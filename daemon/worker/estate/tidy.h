/* SPDX-License-Identifier: Apache-2.0
 *
 * A log that is full loses what nobody needs any more (record_log.h).
 */
#ifndef DAEMON_WORKER_ESTATE_TIDY_H
#define DAEMON_WORKER_ESTATE_TIDY_H

#include "daemon/worker/estate/record_log.h"

/* Drops what is over: operations that are complete, what was asked and is answered, what was made
 * and is gone. Keeps the latest entry. 0; -ENOMEM: nothing is dropped. The log must be whole. */
int tidy_log(struct log *l, const struct log_state *state);

#endif
