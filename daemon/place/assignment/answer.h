/* SPDX-License-Identifier: Apache-2.0
 *
 * The answer of a step. All memory for it is reserved before the step begins (place_growth.h).
 *
 * Owner: struct place. Thread: its owner's.
 */
#ifndef DAEMON_PLACE_ASSIGNMENT_ANSWER_H
#define DAEMON_PLACE_ASSIGNMENT_ANSWER_H

#include "daemon/place/state/place_state.h"

void answer_finish(struct state_answer *a);
/* Returns 0 or -ENOMEM. */
int answer_reserve(struct state_answer *a, uint64_t actions, uint64_t where, uint64_t wrong);

void answer_begin(struct place *p);
/* Records a start on the GPUs in p->search.found. Called before the job is placed on them. */
void answer_start(struct place *p, uint32_t job);
void answer_stop(struct place *p, uint32_t job, const char *why);
void answer_refuse(struct place *p, uint32_t job, const char *why);
void answer_wrong(struct place *p, size_t event, const char *why);
struct place_answer answer_end(const struct place *p);

#endif
