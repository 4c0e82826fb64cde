/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the first of many points (alpha, beta) at x: the one with the largest alpha x + beta. That
 * is the point which a line of slope -x meets first, the answer of a dynamic upper convex hull
 * (thesis, section 4.4.4). Maintaining a hull takes structures of Overmars and van Leeuwen.
 *
 * Here x = e^(bt) only grows, and only the first point is needed. So this is a tournament: a binary
 * tree over places. Each node has the winner of its two children and the x at which that may
 * change, in the node or below. Adding and removing recompute one path, O(log n); as x grows, only
 * due nodes are recomputed. A point states up to which x it holds (a milestone); then `reform`
 * provides the next point.
 *
 * The winner is decided by alpha x + beta in the same arithmetic as a linear search, so that the
 * result is the same. The x at which two points cross is a quotient, which may be some ulp too
 * late; then they are equal within that error. Among equals the lower place wins.
 *
 * Compared with hulls of logarithmic levels, for 10,000 points: 0.15 us to add one against 0.2, 0.1
 * us for a query against 0.1, and 0.9 us to remove the first against 120. A hull that loses a
 * corner is rebuilt (test/bench/modules/plan_bench.c).
 *
 * Owner: the holder. Thread: its owner's.
 */
#ifndef DAEMON_SERVE_PLAN_POLICY_TOURNAMENT_H
#define DAEMON_SERVE_PLAN_POLICY_TOURNAMENT_H

#include <stdbool.h>
#include <stdint.h>

#define TOURNAMENT_NONE UINT32_MAX

struct tournament_point {
    double alpha, beta;
    double until; /* the x from which on another point holds; INFINITY: never */
};

struct tournament_node {
    double until;
    uint32_t winner; /* TOURNAMENT_NONE: no point below the node */
};

/* Empty if all zeroes. */
struct tournament {
    struct tournament_point *points; /* per place */
    struct tournament_node *nodes;   /* nodes[1] is the root, nodes[capacity + place] a leaf */
    uint32_t capacity;               /* a power of two, or 0 */
    uint32_t count;
    double x;
};

/* Returns the next point of a place that has reached its `until`. */
typedef struct tournament_point tournament_reform_fn(void *arg, uint32_t place);

/* Reserves memory for the places below `places`. Returns 0, or -ENOMEM with nothing changed. */
int tournament_reserve(struct tournament *t, uint32_t places);
void tournament_finish(struct tournament *t);

/* tournament_add requires a free place, tournament_remove a used one. */
void tournament_add(struct tournament *t, uint32_t place, struct tournament_point point);
void tournament_remove(struct tournament *t, uint32_t place);

/* Advances to this x, no less than before. */
void tournament_advance(struct tournament *t, double x, tournament_reform_fn *reform, void *arg);

/* Recomputes all points, at any x. */
void tournament_rebuild(struct tournament *t, double x, tournament_reform_fn *reform, void *arg);

/* The first point's place; TOURNAMENT_NONE if there is none. */
static inline uint32_t tournament_first(const struct tournament *t) {
    return t->capacity ? t->nodes[1].winner : TOURNAMENT_NONE;
}

static inline bool tournament_has(const struct tournament *t, uint32_t place) {
    return place < t->capacity && t->nodes[t->capacity + place].winner == place;
}

static inline double tournament_value(const struct tournament *t, uint32_t place) {
    return t->points[place].alpha * t->x + t->points[place].beta;
}

/* Compares with a linear search. NULL, or a violated invariant. */
const char *tournament_check(const struct tournament *t);

#endif
