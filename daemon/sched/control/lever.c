/* SPDX-License-Identifier: Apache-2.0
 *
 * Each lever has a position, and seven numbers to estimate its slope.
 */
#include "daemon/sched/control/lever.h"

#define KEEPS 0.8 /* factor by which earlier moves fade with each new one */
#define MOVE_LEAST                                                                                \
    0.002 /* shortest move from which a slope is learned; noise hides the effect of a shorter one \
           */
#define KNOWN 1.5 /* moves needed to estimate the error of a slope */
#define SURE 2.0  /* standard errors by which a slope may be steeper */
#define FLATTEST                                                                                   \
    64.0 /* the slope is at most this many times flatter than expected, which bounds the move from \
            above */
#define BEYOND \
    0.25 /* a move goes beyond the visited positions by at most this part of their distance */
#define BEYOND_LEAST                                                                              \
    0.1 /* least distance by which a move may go beyond them, as a part of the whole way, however \
           close together they are */
#define STEEPEST                                                                                  \
    4.0 /* the slope is at most this many times steeper than expected, which bounds the move from \
           below */

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

/* Newton's method, because the scheduler does not link libm. */
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
