/* SPDX-License-Identifier: Apache-2.0
 *
 * The step: events in, actions out.
 */
#ifndef DAEMON_PLACE_PLACE_STEP_H
#define DAEMON_PLACE_PLACE_STEP_H

#include "daemon/place/state/place_types.h"

/* 0, or -ENOMEM: then nothing of the step has happened, and the latest answer is not valid any
 * more. now_ns, from 0, never goes back: an earlier time is taken for that of the latest step. */
int place_step(struct place *p, int64_t now_ns, const struct place_event *events, size_t count,
               struct place_answer *answer);

#endif
