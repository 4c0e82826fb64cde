/* SPDX-License-Identifier: Apache-2.0
 *
 * One number a lever, and seven to know what it does.
 */
#include "daemon/sched/control/lever.h"

#define KEEPS 0.8        /* of what earlier moves said, with each new one */
#define MOVE_LEAST 0.002 /* of its way: what a shorter move does is lost in what else changes */
#define KNOWN 1.5        /* moves that it takes to say how sure a slope is */
#define SURE 2.0         /* standard errors that a slope may be steeper */
#define FLATTEST 64.0    /* times less steep than expected: so much longer a way at most */
#define BEYOND 0.25      /* times the way between the places it was at: so far past them at most */
#define BEYOND_LEAST 0.1 /* of all its way, were these places close together */
#define STEEPEST 4.0     /* times steeper than expected: so much shorter a way at least */

void lever_forget(struct lever *l) {
    l->xx = l->xy = l->yy = l->moves = l->moved = 0;
}

static void note_place(struct lever *l, double at) {
    if (at < l->low) l->low = at;
    if (at > l->high) l->high = at;
}

void lever_learn(struct lever *l, double change) {
    double x = l->moved;
    l->moved = 0;
    if (x < MOVE_LEAST && x > -MOVE_LEAST) return;
    l->xx = KEEPS * l->xx + x * x;
    l->xy = KEEPS * l->xy + x * change;
    l->yy = KEEPS * l->yy + change * change;
    if (l->moves == 0) l->low = l->high = l->at;
    note_place(l, l->at - x);
    note_place(l, l->at);
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

static void go(struct lever *l, double to, double most) {
    double before = l->at;
    l->at = to < 0 ? 0 : to > most ? most : to;
    l->moved = l->at - before;
}

void lever_move(struct lever *l, double error, double slope, double most) {
    go(l, l->at - error / slope, most);
}

void lever_move_learnt(struct lever *l, double error, double expected, double most) {
    double to = l->at - error / lever_slope(l, expected);
    double past = BEYOND * (l->high - l->low);
    if (past < BEYOND_LEAST) past = BEYOND_LEAST;
    if (l->moves >= KNOWN && to < l->low - past) to = l->low - past;
    if (l->moves >= KNOWN && to > l->high + past) to = l->high + past;
    go(l, to, most);
}

bool lever_ends(const struct lever *l, double error, double most) {
    return error > 0 ? l->at >= most : l->at <= 0;
}
