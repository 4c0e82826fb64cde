/* SPDX-License-Identifier: Apache-2.0
 *
 * If nothing was freed since the latest pass, only new jobs are tried; these are mostly last in the
 * order.
 */
#include "daemon/place/queue/pass.h"

#include "daemon/place/assignment/freed.h"
#include "daemon/place/assignment/node_reservation.h"
#include "daemon/place/queue/attempt.h"
#include "daemon/place/queue/rounds.h"
#include "daemon/place/state/place_policy.h"

/* The first job in the order that is to be tried. */
static uint32_t from_where(const struct place *p) {
    uint32_t job = p->jobs.last, untried = p->jobs.untried;
    if (p->passed != p->changes) return p->jobs.first;
    for (; job != JOBS_NONE; job = p->jobs.at[job].before)
        if (!p->jobs.at[job].tried && !--untried) break;
    return job;
}

static void in_turn(struct place *p) {
    for (uint32_t job = from_where(p), next; job != JOBS_NONE; job = next) {
        next = p->jobs.at[job].next;
        attempt_run(p, job);
    }
}

static void strictly(struct place *p) {
    for (uint32_t job = p->jobs.first, next; job != JOBS_NONE; job = next) {
        next = p->jobs.at[job].next;
        if (attempt_run(p, job)) return;
    }
}

/* With one queue, or only one job to try, rounds do not affect the order. */
static void in_rounds(struct place *p) {
    bool one = p->passed == p->changes && p->jobs.untried < 2;
    if (p->config.queues < 2 || one)
        in_turn(p);
    else
        rounds_run(p);
}

static void pass(struct place *p) {
    uint64_t changes = p->changes;
    freed_begin(p);
    switch (p->policy->order) {
    case POLICY_STRICT: strictly(p); break;
    case POLICY_IN_TURN: in_turn(p); break;
    case POLICY_ROUNDS: in_rounds(p); break;
    }
    p->passed = changes;
    node_reservation_judge(p);
}

/* Repeats the pass when reservations were cancelled, so that jobs tried before that can use the
 * nodes. */
void pass_run(struct place *p) {
    if (p->passed == p->changes && !p->jobs.untried) return;
    do
        pass(p);
    while (p->passed != p->changes);
}
