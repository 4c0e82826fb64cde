/* SPDX-License-Identifier: Apache-2.0
 *
 * The paper leaves details open. Here features are scaled by their range, so that bytes do not
 * dominate. The first seed is the point with the smallest sum of features. Each further seed is the
 * point farthest from the existing seeds; the first among equals. Centres are means, as k-means
 * defines, and the number of rounds is limited.
 */
#include "daemon/place/state/kmeans.h"

#include <math.h>
#include <stdbool.h>

#define ROUNDS 32u

static void scale(struct kmeans_point *points, uint32_t count, uint32_t feature) {
    double low = INFINITY, high = -INFINITY;
    for (uint32_t i = 0; i < count; i++) {
        low = fmin(low, points[i].at[feature]);
        high = fmax(high, points[i].at[feature]);
    }
    double range = high > low ? high - low : 1;
    for (uint32_t i = 0; i < count; i++)
        points[i].at[feature] = (points[i].at[feature] - low) / range;
}

static double distance(const struct kmeans_point *a, const struct kmeans_point *b) {
    double sum = 0;
    for (uint32_t f = 0; f < KMEANS_FEATURES; f++)
        sum += fabs(a->at[f] - b->at[f]);
    return sum;
}

/* The nearest centre; the first among equals. */
static uint32_t nearest(const struct kmeans_point *centres, uint32_t k,
                        const struct kmeans_point *point, double *how_far) {
    uint32_t best = 0;
    *how_far = INFINITY;
    for (uint32_t i = 0; i < k; i++) {
        double d = distance(&centres[i], point);
        if (d >= *how_far) continue;
        *how_far = d;
        best = i;
    }
    return best;
}

static void seed(struct kmeans_point *centres, const struct kmeans_point *points, uint32_t count,
                 uint32_t k) {
    const struct kmeans_point origin = {{0}};
    uint32_t best = 0;
    for (uint32_t i = 1; i < count; i++)
        if (distance(&points[i], &origin) < distance(&points[best], &origin)) best = i;
    centres[0] = points[best];
    for (uint32_t have = 1; have < k; have++) {
        double farthest = -1, d;
        for (uint32_t i = 0; i < count; i++) {
            nearest(centres, have, &points[i], &d);
            if (d <= farthest) continue;
            farthest = d;
            best = i;
        }
        centres[have] = points[best];
    }
}

/* Returns true if a point changed its cluster. */
static bool assign(const struct kmeans_point *centres, uint32_t k,
                   const struct kmeans_point *points, uint8_t *clusters, uint32_t count) {
    bool changed = false;
    double d;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t to = (uint8_t)nearest(centres, k, &points[i], &d);
        changed |= to != clusters[i];
        clusters[i] = to;
    }
    return changed;
}

/* The centre of an empty cluster does not move. */
static void centre(struct kmeans_point *centres, uint32_t k, const struct kmeans_point *points,
                   const uint8_t *clusters, uint32_t count) {
    struct kmeans_point sums[KMEANS_MOST] = {{{0}}};
    uint32_t members[KMEANS_MOST] = {0};
    for (uint32_t i = 0; i < count; i++) {
        members[clusters[i]]++;
        for (uint32_t f = 0; f < KMEANS_FEATURES; f++)
            sums[clusters[i]].at[f] += points[i].at[f];
    }
    for (uint32_t c = 0; c < k; c++)
        for (uint32_t f = 0; members[c] && f < KMEANS_FEATURES; f++)
            centres[c].at[f] = sums[c].at[f] / members[c];
}

void kmeans_run(struct kmeans_point *points, uint8_t *clusters, uint32_t count, uint32_t k) {
    struct kmeans_point centres[KMEANS_MOST];
    for (uint32_t i = 0; i < count; i++)
        clusters[i] = 0;
    if (k < 2 || count < 2) return;
    for (uint32_t f = 0; f < KMEANS_FEATURES; f++)
        scale(points, count, f);
    seed(centres, points, count, k);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        if (!assign(centres, k, points, clusters, count)) return;
        centre(centres, k, points, clusters, count);
    }
}
