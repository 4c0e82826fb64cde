/* SPDX-License-Identifier: Apache-2.0
 *
 * The control law of GPUColo (section V): "l(k+1) = l(k) + m u(k)" (1), and "u(k) = (L_ref - l(k))
 * / m". A lever is a quantity that reduces the latency of services and takes time from best-effort
 * jobs: a pause after each iteration, or multiprocessors withheld. Its position is between 0 and 1,
 * and m, which is negative, is the change of latency over the whole way.
 *
 * The loop is stable while the true slope m' satisfies 0 < m'/m < 2, and settles without overshoot
 * while that is at most 1. m is given, or learned from (1) by least squares over the moves made, in
 * which the latest counts most. Differences do not depend on the load: a load that changes spoils
 * one move, not all later ones. The steepest slope that is consistent with the moves is used, so
 * that uncertainty makes a move too short rather than too long.
 *
 * A learned slope holds for the positions that the lever has visited; elsewhere the slope may
 * differ (a first fifth of the multiprocessors may have no effect, the last one all of it). So a
 * move by a learned slope goes no further beyond these positions than they are apart.
 *
 * A lever at its end stays there and does not integrate the remaining error (anti-windup). Pure.
 */
#ifndef DAEMON_SCHED_CONTROL_LEVER_H
#define DAEMON_SCHED_CONTROL_LEVER_H

#include <stdbool.h>

struct lever {
    double at;    /* position; 0: takes nothing, 1: takes all it can */
    double moved; /* length of its latest move; 0: nothing can be learned from it */
    /* fading sums of x*x, x*y, y*y; x: length of a move, y: the change of latency that followed */
    double xx, xy, yy;
    double moves;     /* number of moves, fading alike */
    double low, high; /* range of visited positions, not fading; valid after the first move */
};

/* Learns from the latest move, which changed the latency by `change` (negative: reduced it). */
void lever_learn(struct lever *l, double change);
/* Forgets the slope; the position stays. */
void lever_forget(struct lever *l);
/* Returns the slope to use. `expected`, which is negative, is the slope to use while nothing is
 * known: the steepest plausible one. It also bounds the learned slope, so that a lever neither
 * jumps nor freezes. */
double lever_slope(const struct lever *l, double expected);
/* Moves the lever one step with this slope. `error`: excess over the target; `most`: the lever's
 * end. */
void lever_move(struct lever *l, double error, double slope, double most);
/* Moves the lever with the learned slope (lever_slope), and no further than that slope is valid. */
void lever_move_learnt(struct lever *l, double error, double expected, double most);
/* The lever cannot move further against this error. */
bool lever_ends(const struct lever *l, double error, double most);

#endif
