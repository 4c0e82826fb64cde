/* SPDX-License-Identifier: Apache-2.0
 *
 * One number a lever, and five to know what it does.
 */
#include "daemon/sched/control/lever.h"

#define KEEPS 0.8        /* of what earlier moves said, with each new one */
#define MOVE_LEAST 0.002 /* of its way: what a shorter move does is lost in what else changes */
#define KNOWN 1.5        /* moves that it takes to say how sure a slope is */
#define SURE 2.0         /* standard errors that a slope may be steeper */
#define FLATTEST 64.0    /* times less steep than expected: so much longer a way at most */
#define STEEPEST 4.0     /* times steeper than expected: so much shorter a way at least */

void lever_forget(struct lever *l) {
    l->xx = l->xy = l->yy = l->moves = l->moved = 0;
}

void lever_learn(struct lever *l, double change) {
    double x = l->moved;
    l->moved = 0;
    if (x < MOVE_LEAST && x > -MOVE_LEAST) return;
    l->xx = KEEPS * l->xx + x * x;
    l->xy = KEEPS * l->xy + x * change;
    l->yy = KEEPS * l->yy + change * change;
    l->moves = KEEPS * l->moves + 1;
}

/* By Newton: libm is not the scheduler's. */
static double square_root(double square) {
    double root = square > 1 ? square : 1;
    if (square <= 0) return 0;
    for (double next = (root + square / root) / 2; next < root; next = (root + square / root) / 2)
        root = next;
    return root;
}

double lever_slope(const struct lever *l, double expected) {
    if (l->moves < KNOWN) return expected;
    double slope = l->xy / l->xx, rest = l->yy - slope * l->xy;
    double variance = rest > 0 ? rest / (l->moves - 1) / l->xx : 0;
    slope -= SURE * square_root(variance);
    if (slope < expected * STEEPEST) return expected * STEEPEST;
    return slope > expected / FLATTEST ? expected / FLATTEST : slope;
}

void lever_move(struct lever *l, double error, double slope, double most) {
    double before = l->at;
    l->at -= error / slope;
    if (l->at < 0) l->at = 0;
    if (l->at > most) l->at = most;
    l->moved = l->at - before;
}

bool lever_ends(const struct lever *l, double error, double most) {
    return error > 0 ? l->at >= most : l->at <= 0;
}
