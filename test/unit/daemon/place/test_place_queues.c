/* SPDX-License-Identifier: Apache-2.0
 *
 * Weighted fair queuing (Horus, section 4.2.2): clusters, weights, shares, and the resulting order.
 */
#include <criterion/criterion.h>

#include "daemon/place/queue/queues.h"
#include "daemon/place/state/kmeans.h"
#include "test/lib/place/placecase.h"

static void expect_clusters(struct kmeans_point *points, uint32_t count, uint32_t k,
                            const char *must) {
    uint8_t clusters[16];
    char is[17] = "";
    kmeans_run(points, clusters, count, k);
    for (uint32_t i = 0; i < count; i++)
        is[i] = (char)('a' + clusters[i]);
    cr_expect_str_eq(is, must);
}

/* The first seed has the smallest features. */
Test(place_queues, jobs_that_are_alike_are_together) {
    struct kmeans_point points[] = {{{1, 0.9, 1, 8}}, {{8, 0.5, 8, 9}}, {{1, 0.1, 1, 1}},
                                    {{1, 0.8, 1, 9}}, {{8, 0.6, 8, 9}}, {{1, 0.2, 1, 1}}};
    expect_clusters(points, 6, 3, "cbacba");
}

/* Features are scaled, so bytes have no more weight for being large numbers: two differ in
 * tasks, two in memory. */
Test(place_queues, features_are_scaled) {
    struct kmeans_point points[] = {
        {{1, 0.5, 1, 1e9}}, {{1, 0.5, 1, 1.2e9}}, {{9, 0.5, 9, 1e9}}, {{9, 0.5, 9, 1.2e9}}};
    expect_clusters(points, 4, 2, "aabb");
}

Test(place_queues, fewer_points_than_clusters) {
    struct kmeans_point same[] = {{{1, 0.5, 1, 1}}, {{1, 0.5, 1, 1}}};
    struct kmeans_point one[] = {{{1, 0.5, 1, 1}}};
    expect_clusters(same, 2, 3, "aa");
    expect_clusters(one, 1, 3, "a");
    expect_clusters(one, 0, 3, "");
}

/* By L1, once scaled, (6, 6) is the farthest from (0, 0); by L2 it is the nearest of the three. */
Test(place_queues, distances_are_l1) {
    struct kmeans_point points[] = {
        {{0, 0, 0, 0}}, {{10, 0, 0, 0}}, {{6, 6, 0, 0}}, {{0, 9, 0, 0}}};
    expect_clusters(points, 4, 2, "aabb");
}

/* Centres move: the fourth job is nearer to the second's seed, and in the end to the first's
 * mean. */
Test(place_queues, centres_are_means) {
    struct kmeans_point points[] = {
        {{0, 0, 0, 0}}, {{4.5, 0, 0, 0}}, {{4.6, 0, 0, 0}}, {{5.2, 0, 0, 0}}, {{10, 0, 0, 0}}};
    expect_clusters(points, 5, 2, "aaaab");
}

Test(place_queues, weights) {
    cr_expect_eq(queues_weight(10, 0), 10, "all are new");
    cr_expect_eq(queues_weight(10, 0.5), 10);
    cr_expect_eq(queues_weight(10, 3), 30);
    cr_expect_eq(queues_weight(0, 3), 0);
}

static void expect_given(const double *weights, const uint32_t *lengths, uint32_t batch, uint32_t a,
                         uint32_t b, uint32_t c) {
    uint32_t given[3];
    queues_share(weights, lengths, 3, batch, given);
    cr_expect(given[0] == a && given[1] == b && given[2] == c, "%u %u %u, not %u %u %u", given[0],
              given[1], given[2], a, b, c);
}

Test(place_queues, shares) {
    const uint32_t many[] = {100, 100, 100}, few[] = {2, 100, 1}, none[] = {0, 0, 0};
    expect_given((double[]){6, 3, 1}, many, 10, 6, 3, 1);
    expect_given((double[]){1, 1, 1}, many, 15, 5, 5, 5);
    expect_given((double[]){3, 2, 1}, many, 15, 8, 5, 2);
    expect_given((double[]){1, 1, 1}, many, 1, 1, 0, 0);
    expect_given((double[]){98, 1, 1}, many, 2, 2, 0, 0);
    expect_given((double[]){6, 3, 1}, few, 10, 2, 7, 1);
    expect_given((double[]){0, 0, 0}, none, 10, 0, 0, 0);
}

/* All jobs are reported at once, as by a caller that has just started; the time since when each
 * waits counts. */
Test(place_queues, who_has_waited_before_goes_first) {
    struct placecase c;
    struct place_event events[9];
    struct place_job jobs[9];
    placecase_init(&c, &(struct place_config){.policy = "horus_f", .queues = 2, .batch = 2});
    c.now_ns = 1000 * PLACECASE_S;
    placecase_node(&c, 1, 4, 16);
    placecase_at(&c, PLACE_NODE_SHUT, 1);
    for (uint32_t i = 0; i < 9; i++) {
        jobs[i] = placecase_job(i, i >= 3 && i < 6 ? 1 : 0.1, 9);
        if (i < 3) jobs[i].since_ns = 900 * PLACECASE_S;
        /* a time in the future, which counts as now */
        if (i == 3) jobs[i].since_ns = 5000 * PLACECASE_S;
        events[i] = (struct place_event){.kind = PLACE_JOB, .job = &jobs[i]};
    }
    placecase_tell_all(&c, events, 9);
    placecase_at(&c, PLACE_NODE_OPEN, 1);
    cr_assert_eq(c.answer.action_count, 4);
    for (uint32_t i = 0; i < 4; i++)
        cr_expect_eq(c.answer.actions[i].id, i);
    placecase_finish(&c);
}

/* One GPU, one job at a time: the order of starts is the order of Algorithm 1. Six small jobs
 * have waited for 100 s, three large ones have just arrived; beta is 2. */
Test(place_queues, who_waits_longer_goes_first) {
    struct placecase c;
    struct place_event events[9];
    struct place_job jobs[9];
    placecase_init(&c, &(struct place_config){.policy = "horus_f", .queues = 2, .batch = 2});
    placecase_node(&c, 1, 4, 16);
    placecase_at(&c, PLACE_NODE_SHUT, 1);
    for (uint32_t i = 0; i < 9; i++) {
        jobs[i] = placecase_job(i, i < 6 ? 0.1 : 1, 9);
        events[i] = (struct place_event){.kind = PLACE_JOB, .job = &jobs[i]};
    }
    placecase_tell_all(&c, events, 3);
    c.now_ns = 100 * PLACECASE_S;
    placecase_tell_all(&c, events + 6, 3);
    placecase_tell_all(&c, events + 3, 3);
    placecase_at(&c, PLACE_NODE_OPEN, 1);
    /* Weights: 6 small jobs with median (100 + 0) / 2 = 50 s: 300; 3 large ones: 3. Both jobs of
     * the first round are small. Then 4 small ones with median 0 (of 100, 0, 0, 0): 4 against 3,
     * one of each. */
    cr_assert_eq(c.answer.action_count, 4);
    cr_expect_eq(c.answer.actions[0].id, 0);
    cr_expect_eq(c.answer.actions[1].id, 1);
    cr_expect_eq(c.answer.actions[2].id, 2);
    cr_expect_eq(c.answer.actions[3].id, 6);
    placecase_finish(&c);
}
