/* SPDX-License-Identifier: Apache-2.0
 *
 * Hulls of logarithmic levels.
 */
#include "test/bench/modules/hull_levels.h"

#include <stdlib.h>
#include <string.h>

static void *take(size_t count, size_t bytes) {
    void *p = calloc(count, bytes);
    if (!p) abort();
    return p;
}

void hull_levels_init(struct hull_levels *h, uint32_t places) {
    *h = (struct hull_levels){.alpha = take(places, sizeof(double)),
                              .beta = take(places, sizeof(double)),
                              .level = take(places, 1),
                              .in = take(places, sizeof(bool)),
                              .merged = take(1u << HULL_LEVELS, sizeof(uint32_t))};
    for (uint32_t i = 0; i < HULL_LEVELS; i++) {
        h->levels[i].points = take(1u << i, sizeof(uint32_t));
        h->levels[i].hull = take(1u << i, sizeof(uint32_t));
    }
}

void hull_levels_finish(struct hull_levels *h) {
    free(h->alpha);
    free(h->beta);
    free(h->level);
    free(h->in);
    free(h->merged);
    for (uint32_t i = 0; i < HULL_LEVELS; i++) {
        free(h->levels[i].points);
        free(h->levels[i].hull);
    }
}

static double value(const struct hull_levels *h, uint32_t place, double x) {
    return h->alpha[place] * x + h->beta[place];
}

/* True when b lies on or below the line from a to c; alpha ascends. */
static bool below(const struct hull_levels *h, uint32_t a, uint32_t b, uint32_t c) {
    return (h->beta[c] - h->beta[a]) * (h->alpha[b] - h->alpha[a]) >=
           (h->beta[b] - h->beta[a]) * (h->alpha[c] - h->alpha[a]);
}

static void make_hull(struct hull_levels *h, struct hull_level *l, uint8_t number) {
    l->corners = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        uint32_t p = l->points[i];
        if (!h->in[p] || h->level[p] != number) continue;
        while (l->corners > 1 && below(h, l->hull[l->corners - 2], l->hull[l->corners - 1], p))
            l->corners--;
        l->hull[l->corners++] = p;
    }
}

/* Merges two sorted runs, of the level and of `merged`, into `merged`; leaves removed points
 * behind. */
static uint32_t merge(struct hull_levels *h, const struct hull_level *l, uint8_t number,
                      uint32_t count) {
    uint32_t *out = h->merged + (1u << (HULL_LEVELS - 1)), a = 0, b = 0, n = 0;
    while (a < l->count || b < count) {
        bool first =
            b == count || (a < l->count && h->alpha[l->points[a]] <= h->alpha[h->merged[b]]);
        uint32_t p = first ? l->points[a++] : h->merged[b++];
        if (!first || (h->in[p] && h->level[p] == number)) out[n++] = p;
    }
    memcpy(h->merged, out, n * sizeof(*out));
    return n;
}

void hull_levels_add(struct hull_levels *h, uint32_t place, double alpha, double beta) {
    uint32_t count = 1;
    uint8_t number = 0;
    h->alpha[place] = alpha;
    h->beta[place] = beta;
    h->in[place] = true;
    h->level[place] = UINT8_MAX; /* not in a level yet */
    h->merged[0] = place;
    for (; h->levels[number].count; number++) {
        count = merge(h, &h->levels[number], number, count);
        h->levels[number].count = h->levels[number].corners = 0;
    }
    struct hull_level *l = &h->levels[number];
    memcpy(l->points, h->merged, count * sizeof(*l->points));
    l->count = count;
    for (uint32_t i = 0; i < count; i++)
        h->level[l->points[i]] = number;
    make_hull(h, l, number);
}

void hull_levels_remove(struct hull_levels *h, uint32_t place) {
    struct hull_level *l = &h->levels[h->level[place]];
    h->in[place] = false;
    for (uint32_t i = 0; i < l->corners; i++)
        if (l->hull[i] == place) {
            make_hull(h, l, h->level[place]);
            break;
        }
    if (!l->corners) l->count = 0;
}

static uint32_t first_of(const struct hull_levels *h, const struct hull_level *l, double x) {
    uint32_t low = 0, high = l->corners - 1;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (value(h, l->hull[middle], x) < value(h, l->hull[middle + 1], x))
            low = middle + 1;
        else
            high = middle;
    }
    return l->hull[low];
}

uint32_t hull_levels_first(const struct hull_levels *h, double x) {
    uint32_t best = HULL_LEVELS_NONE;
    for (uint32_t i = 0; i < HULL_LEVELS; i++) {
        if (!h->levels[i].corners) continue;
        uint32_t p = first_of(h, &h->levels[i], x);
        if (best == HULL_LEVELS_NONE || value(h, p, x) > value(h, best, x)) best = p;
    }
    return best;
}
