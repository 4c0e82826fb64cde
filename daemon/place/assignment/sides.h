/* SPDX-License-Identifier: Apache-2.0
 *
 * The two sides of a cluster under policy separate. A new node is for services while they have
 * fewer GPUs than their ratio to the trainings' GPUs; else for trainings, including the first node.
 *
 * Owner: struct place. Thread: its owner's.
 */
#ifndef DAEMON_PLACE_ASSIGNMENT_SIDES_H
#define DAEMON_PLACE_ASSIGNMENT_SIDES_H

#include "daemon/place/state/place_state.h"

static inline enum place_kind sides_come(struct place *p, uint32_t gpus) {
    double wanted = p->config.separate_ratio * (double)p->side_gpus[PLACE_TRAINING];
    enum place_kind side =
        (double)p->side_gpus[PLACE_SERVICE] < wanted ? PLACE_SERVICE : PLACE_TRAINING;
    p->side_gpus[side] += gpus;
    return side;
}

static inline void sides_go(struct place *p, enum place_kind side, uint32_t gpus) {
    p->side_gpus[side] -= gpus;
}

#endif
