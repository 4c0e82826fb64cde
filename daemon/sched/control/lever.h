/* SPDX-License-Identifier: Apache-2.0
 *
 * The control law of GPUColo (section V): "l(k+1) = l(k) + m u(k)" (1), and "u(k) = (L_ref - l(k))
 * / m". A lever is something of which more takes latency from services and time from best-effort
 * jobs: a pause after each iteration, multiprocessors withheld. It stands between 0 and 1 of its
 * way, and m is the latency that its whole way would add: less than 0.
 *
 * The loop is stable while the true slope m' has 0 < m'/m < 2, and settles without overshoot while
 * it is no more than 1. m is given, or learnt from (1) itself: least squares over the moves that
 * were made, the latest counting most. Differences know nothing of n: a load that changed spoils
 * one move, not all later ones. What is used is the steepest slope that the moves allow, so that of
 * what is not known the lever goes too short a way rather than too long.
 *
 * A slope is that of the places where the lever has been; elsewhere it may be another (a first
 * fifth of the multiprocessors may do nothing, the last one everything). So a move by a learnt
 * slope goes no further beyond these places than they are apart.
 *
 * A lever at its end stays there and remembers nothing of what it would have done (anti-windup).
 * Pure.
 */
#ifndef DAEMON_SCHED_CONTROL_LEVER_H
#define DAEMON_SCHED_CONTROL_LEVER_H

#include <stdbool.h>

struct lever {
    double at;         /* 0: it takes nothing, 1: all it can */
    double moved;      /* by its latest move; 0: nothing is to be learnt of it */
    double xx, xy, yy; /* sums over moves and what they did to the latency, fading */
    double moves;      /* how many, faded alike */
    double low, high;  /* where it was in these, not faded; known from the first one on */
};

/* What the latest move did: the latency is now more by so much (less than 0: less). */
void lever_learn(struct lever *l, double change);
/* Nothing is known of its slope any more; where it stands it stays. */
void lever_forget(struct lever *l);
/* The slope to go by. `expected` is less than 0: what to go by while nothing is known, as steep as
 * it may well be. It bounds what is taken for known, so that a lever neither jumps nor freezes. */
double lever_slope(const struct lever *l, double expected);
/* One step of the law with this slope: `error` is what there is above the target, `most` how far
 * the lever may go. */
void lever_move(struct lever *l, double error, double slope, double most);
/* The same by what was learnt of the slope (lever_slope), and no further than that says. */
void lever_move_learnt(struct lever *l, double error, double expected, double most);
/* Whether it could go no further against such an error. */
bool lever_ends(const struct lever *l, double error, double most);

#endif
