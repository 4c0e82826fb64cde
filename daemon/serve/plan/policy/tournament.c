/* SPDX-License-Identifier: Apache-2.0
 *
 * A kinetic tournament.
 */
#include "daemon/serve/plan/policy/tournament.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double sooner(double a, double b) {
    return a < b ? a : b;
}

/* The x at which the loser overtakes the winner: infinity if its line does not rise faster. */
static double passes_at(const struct tournament_point *winner,
                        const struct tournament_point *loser) {
    double faster = loser->alpha - winner->alpha;
    return faster > 0 ? (winner->beta - loser->beta) / faster : INFINITY;
}

static struct tournament_node play(const struct tournament *t, uint32_t node) {
    struct tournament_node left = t->nodes[2 * node], right = t->nodes[2 * node + 1];
    if (right.winner == TOURNAMENT_NONE) return left;
    if (left.winner == TOURNAMENT_NONE) return right;
    bool second = tournament_value(t, right.winner) > tournament_value(t, left.winner);
    uint32_t winner = second ? right.winner : left.winner;
    uint32_t loser = second ? left.winner : right.winner;
    double until = sooner(left.until, right.until);
    return (struct tournament_node){sooner(until, passes_at(&t->points[winner], &t->points[loser])),
                                    winner};
}

/* Updates the path from a leaf that was added or removed, up to the first unchanged node. */
static void play_path(struct tournament *t, uint32_t place) {
    for (uint32_t node = (t->capacity + place) / 2; node; node /= 2) {
        struct tournament_node was = t->nodes[node], now = play(t, node);
        t->nodes[node] = now;
        if (now.winner == was.winner && now.until == was.until) return;
    }
}

int tournament_reserve(struct tournament *t, uint32_t places) {
    uint32_t capacity = t->capacity ? t->capacity : 16;
    if (places <= t->capacity) return 0;
    while (capacity < places)
        capacity *= 2;
    struct tournament_point *points = calloc(capacity, sizeof(*points));
    struct tournament_node *nodes = malloc(2 * (size_t)capacity * sizeof(*nodes));
    if (!points || !nodes) {
        free(points);
        free(nodes);
        return -ENOMEM;
    }
    if (t->capacity) memcpy(points, t->points, t->capacity * sizeof(*points));
    for (uint32_t i = 0; i < capacity; i++)
        nodes[capacity + i] = i < t->capacity ? t->nodes[t->capacity + i]
                                              : (struct tournament_node){INFINITY, TOURNAMENT_NONE};
    tournament_finish(&(struct tournament){.points = t->points, .nodes = t->nodes});
    t->points = points;
    t->nodes = nodes;
    t->capacity = capacity;
    for (uint32_t node = capacity - 1; node; node--)
        t->nodes[node] = play(t, node);
    return 0;
}

void tournament_finish(struct tournament *t) {
    free(t->points);
    free(t->nodes);
    *t = (struct tournament){0};
}

static void set_leaf(struct tournament *t, uint32_t place, struct tournament_point point) {
    t->points[place] = point;
    t->nodes[t->capacity + place] = (struct tournament_node){point.until, place};
}

void tournament_add(struct tournament *t, uint32_t place, struct tournament_point point) {
    set_leaf(t, place, point);
    t->count++;
    play_path(t, place);
}

void tournament_remove(struct tournament *t, uint32_t place) {
    t->nodes[t->capacity + place] = (struct tournament_node){INFINITY, TOURNAMENT_NONE};
    t->count--;
    play_path(t, place);
}

/* Updates due nodes. Depth: log2 of the places. */
static void play_due(struct tournament *t, uint32_t node, tournament_reform_fn *reform, void *arg) {
    if (t->nodes[node].until > t->x) return;
    if (node >= t->capacity) {
        set_leaf(t, node - t->capacity, reform(arg, node - t->capacity));
        return;
    }
    play_due(t, 2 * node, reform, arg);
    play_due(t, 2 * node + 1, reform, arg);
    t->nodes[node] = play(t, node);
}

void tournament_advance(struct tournament *t, double x, tournament_reform_fn *reform, void *arg) {
    t->x = x;
    if (t->count) play_due(t, 1, reform, arg);
}

void tournament_rebuild(struct tournament *t, double x, tournament_reform_fn *reform, void *arg) {
    t->x = x;
    for (uint32_t place = 0; place < t->capacity; place++)
        if (tournament_has(t, place)) set_leaf(t, place, reform(arg, place));
    for (uint32_t node = t->capacity ? t->capacity - 1 : 0; node; node--)
        t->nodes[node] = play(t, node);
}

const char *tournament_check(const struct tournament *t) {
    uint32_t count = 0, first = tournament_first(t);
    for (uint32_t i = 0; i < t->capacity; i++) {
        if (!tournament_has(t, i)) continue;
        count++;
        if (first == TOURNAMENT_NONE || !tournament_has(t, first))
            return "the tournament has entries and no winner";
        double behind = tournament_value(t, i) - tournament_value(t, first);
        if (t->nodes[1].until > t->x && behind > 1e-12 * fabs(tournament_value(t, i)))
            return "an entry is better than the winner";
    }
    return count == t->count ? NULL : "the number of points is wrong";
}
