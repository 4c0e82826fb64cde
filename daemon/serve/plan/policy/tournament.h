/* SPDX-License-Identifier: Apache-2.0
 *
 * Who of many points (alpha, beta) is first at x: alpha x + beta is the largest. That is the point
 * which a line of slope -x meets first, the answer of a dynamic upper convex hull (thesis, section
 * 4.4.4), which takes structures of Overmars and van Leeuwen to keep whole. Here x = e^(bt) only
 * grows, and of the hull nobody asks for more than where it is met. So this is a tournament: a
 * binary tree over places, each node with the winner of the two below it and the x at which that
 * may change, its own or one below. To come or go is to play one path again, O(log n); as x grows
 * only what is due is played again. Points say themselves up to which x they hold (a milestone);
 * then `reform` is asked for the next.
 *
 * Who wins is decided by alpha x + beta in the arithmetic of a plain search over all, so that it
 * answers as one does. When two pass each other is a quotient, which may be some ulp of x too late:
 * then they are equal within as much. Of equal ones the lower place wins.
 *
 * Chosen against hulls of logarithmic levels, of 10,000 points: 0.15 us to add one against 0.2, 0.1
 * us to ask against 0.1, 0.9 us to take the first away against 120, since a hull that loses a
 * corner is made anew (test/bench/modules/plan_bench.c).
 *
 * Owner: who holds it. Thread: its owner's.
 */
#ifndef DAEMON_SERVE_PLAN_POLICY_TOURNAMENT_H
#define DAEMON_SERVE_PLAN_POLICY_TOURNAMENT_H

#include <stdbool.h>
#include <stdint.h>

#define TOURNAMENT_NONE UINT32_MAX

struct tournament_point {
    double alpha, beta;
    double until; /* the x from which on it is another one; INFINITY: it stays */
};

struct tournament_node {
    double until;
    uint32_t winner; /* TOURNAMENT_NONE: nobody is below */
};

/* One of zeroes is empty. */
struct tournament {
    struct tournament_point *points; /* by place */
    struct tournament_node *nodes;   /* nodes[1] is the root, nodes[capacity + place] a leaf */
    uint32_t capacity;               /* a power of two, or 0 */
    uint32_t count;
    double x;
};

/* The point of a place from now on, which has reached its `until`. */
typedef struct tournament_point tournament_reform_fn(void *arg, uint32_t place);

/* Room for the places below `places`: 0, or -ENOMEM with nothing changed. */
int tournament_reserve(struct tournament *t, uint32_t places);
void tournament_finish(struct tournament *t);

/* The place must be free; and taken. */
void tournament_add(struct tournament *t, uint32_t place, struct tournament_point point);
void tournament_remove(struct tournament *t, uint32_t place);

/* From now on it is about this x, no less than before. */
void tournament_advance(struct tournament *t, double x, tournament_reform_fn *reform, void *arg);

/* All points anew, at any x. */
void tournament_rebuild(struct tournament *t, double x, tournament_reform_fn *reform, void *arg);

/* Who is first; TOURNAMENT_NONE. */
static inline uint32_t tournament_first(const struct tournament *t) {
    return t->capacity ? t->nodes[1].winner : TOURNAMENT_NONE;
}

static inline bool tournament_has(const struct tournament *t, uint32_t place) {
    return place < t->capacity && t->nodes[t->capacity + place].winner == place;
}

static inline double tournament_value(const struct tournament *t, uint32_t place) {
    return t->points[place].alpha * t->x + t->points[place].beta;
}

/* Against a search over all: NULL, or what does not hold. */
const char *tournament_check(const struct tournament *t);

#endif
