/* SPDX-License-Identifier: Apache-2.0
 *
 * The step: takes events and returns actions.
 */
#ifndef DAEMON_PLACE_PLACE_STEP_H
#define DAEMON_PLACE_PLACE_STEP_H

#include "daemon/place/state/place_types.h"

/* Returns 0, or -ENOMEM with no effect except that the latest answer becomes invalid. now_ns starts
 * at 0 and never decreases: an earlier time counts as the latest step's. */
int place_step(struct place *p, int64_t now_ns, const struct place_event *events, size_t count,
               struct place_answer *answer);

#endif
