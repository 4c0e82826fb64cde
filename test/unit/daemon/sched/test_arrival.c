/* SPDX-License-Identifier: Apache-2.0
 *
 * Predictions of the next arrival: for predictable processes, as long as they stay predictable, and
 * for unpredictable ones. All random numbers come from a seed.
 */
#include <criterion/criterion.h>
#include <math.h>

#include "daemon/sched/policy/arrival.h"

#define MS 1000000.0
#define PERIOD (48 * MS)
#define REQUESTS 1050u

struct process {
    uint64_t seed;
    uint32_t number; /* number of the arrival */
    double now_ns;
    double due_ns[2]; /* due times of two periods */
    struct arrival a;
    /* said: arrivals that were predicted; right: those that came within the predicted window */
    uint32_t said, right;
    double window_ns; /* sum of the windows */
};

static double unit(struct process *p) {
    p->seed = p->seed * 6364136223846793005ull + 1442695040888963407ull;
    return (double)((p->seed >> 11) + 1) / (double)(1ull << 53);
}

static double exponential(struct process *p, double mean_ns) {
    return -log(unit(p)) * mean_ns;
}

static struct process make(uint64_t seed) {
    struct process p = {.seed = seed, .now_ns = 1000 * MS};
    for (int i = 0; i < 8; i++)
        unit(&p);
    p.due_ns[0] = p.now_ns;
    p.due_ns[1] = p.now_ns + 13 * MS;
    return p;
}

/* The next arrival comes after this gap. */
static void come(struct process *p, double gap_ns) {
    p->now_ns += gap_ns;
    uint64_t now_ns = (uint64_t)p->now_ns;
    if (p->a.next_ns) {
        uint64_t off = now_ns > p->a.next_ns ? now_ns - p->a.next_ns : p->a.next_ns - now_ns;
        p->said++;
        p->right += off <= p->a.error_ns;
        p->window_ns += (double)p->a.error_ns;
    }
    p->number++;
    arrival_came(&p->a, now_ns);
}

/* A steady period; each arrival deviates from it by up to `part`. */
static void keep_time(struct process *p, double part) {
    p->due_ns[0] += PERIOD;
    come(p, p->due_ns[0] + (2 * unit(p) - 1) * part * PERIOD - p->now_ns);
}

/* Each gap deviates from the period by up to `part`, so that deviations add up. */
static void drift(struct process *p, double part) {
    come(p, PERIOD * (1 + (2 * unit(p) - 1) * part));
}

static void two_periods(struct process *p, double first_ns, double second_ns) {
    double *due = p->due_ns[0] <= p->due_ns[1] ? &p->due_ns[0] : &p->due_ns[1];
    double at_ns = *due;
    *due += due == p->due_ns ? first_ns : second_ns;
    come(p, at_ns - p->now_ns);
}

static void expect_window(const struct process *p, double least_right, double most_ns) {
    cr_expect_gt(p->right, least_right * p->said, "%u of %u", p->right, p->said);
    cr_expect_lt(p->window_ns, most_ns * p->said, "%f ms", p->window_ns / p->said / MS);
}

/* ---- predictable processes ------------------------------------------------------------------- */

Test(arrival, a_period_is_believed_after_it_was_kept_to_six_times) {
    struct process p = make(1);
    for (int i = 0; i < 8; i++) {
        cr_expect_eq(p.a.next_ns, 0, "arrival %d", i);
        come(&p, PERIOD);
    }
    cr_expect_eq(p.a.next_ns, (uint64_t)(p.now_ns + PERIOD));
    cr_expect_eq(p.a.error_ns, 20000, "as exact as hosts are");
    cr_expect(arrival_expected(&p.a, p.a.next_ns + 19999));
    cr_expect_not(arrival_expected(&p.a, p.a.next_ns + 20000), "it is overdue");
}

Test(arrival, a_pattern_is_believed_once_it_has_begun_anew) {
    static const double gaps[] = {12, 73, 13, 19, 4, 122, 18, 16, 49, 123, 69};
    struct process p = make(1);
    for (int i = 0; i < 18; i++)
        come(&p, gaps[i % 11] * MS);
    cr_expect_neq(p.a.next_ns, 0);
    p.said = p.right = 0;
    for (int i = 18; i < 100; i++)
        come(&p, gaps[i % 11] * MS);
    cr_expect_eq(p.said, 82);
    cr_expect_eq(p.right, 82);
}

Test(arrival, what_is_said_of_a_jittered_period_is_mostly_right_within_its_window) {
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct process kept = make(seed), drifts = make(seed);
        for (uint32_t i = 0; i < REQUESTS; i++) {
            keep_time(&kept, 0.01);
            drift(&drifts, 0.01);
        }
        cr_expect_gt(kept.said, REQUESTS * 0.95);
        expect_window(&kept, 0.94, 0.9 * MS);
        cr_expect_gt(drifts.said, REQUESTS * 0.95);
        expect_window(&drifts, 0.9, 0.9 * MS);
    }
}

Test(arrival, of_two_periods_their_pattern_is_seen_if_it_is_short) {
    struct process simple = make(1), golden = make(1);
    for (uint32_t i = 0; i < REQUESTS; i++) {
        two_periods(&simple, 75 * MS, 125 * MS);
        two_periods(&golden, 75 * MS, 75 * MS * 1.6180339887);
    }
    cr_expect_gt(simple.said, REQUESTS * 0.95);
    cr_expect_eq(simple.right, simple.said);
    cr_expect_lt(golden.said, REQUESTS / 100, "%u", golden.said);
}

Test(arrival, bursts_are_foreseen_with_equal_pauses) {
    struct process p = make(1);
    for (uint32_t i = 0; i < REQUESTS; i++)
        come(&p, i % 5 == 4 ? 200 * MS : 10 * MS);
    cr_expect_gt(p.said, REQUESTS * 0.95);
    cr_expect_eq(p.right, p.said);
}

/* ---- processes that change ------------------------------------------------------------------- */

Test(arrival, a_change_of_phase_costs_a_few_words) {
    struct process p = make(1);
    for (uint32_t i = 0; i < REQUESTS; i++)
        come(&p, i % 100 == 99 ? PERIOD * 1.4 : PERIOD);
    cr_expect_gt(p.said, REQUESTS * 0.95);
    cr_expect_gt(p.right, p.said - 25, "%u of %u", p.right, p.said);
}

Test(arrival, where_a_period_ends_nothing_is_said_soon) {
    uint32_t wrong = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct process p = make(seed);
        for (uint32_t i = 0; i < 100; i++)
            come(&p, PERIOD);
        p.said = p.right = 0;
        for (uint32_t i = 0; i < 500; i++)
            come(&p, exponential(&p, PERIOD));
        wrong += p.said - p.right;
        cr_expect_leq(p.said, 8, "seed %lu: %u", (unsigned long)seed, p.said);
    }
    cr_expect_leq(wrong, 300, "%u", wrong);
}

Test(arrival, another_period_is_learnt) {
    struct process p = make(1);
    for (uint32_t i = 0; i < 100; i++)
        come(&p, PERIOD);
    for (uint32_t i = 0; i < 12; i++)
        come(&p, 7 * MS);
    cr_expect_eq(p.a.next_ns, (uint64_t)(p.now_ns + 7 * MS));
}

/* ---- unpredictable processes ----------------------------------------------------------------- */

Test(arrival, nothing_is_said_of_a_poisson_process) {
    uint32_t said = 0;
    for (uint64_t seed = 1; seed <= 500; seed++) {
        struct process p = make(seed);
        for (uint32_t i = 0; i < REQUESTS; i++)
            come(&p, exponential(&p, PERIOD));
        said += p.said;
    }
    cr_expect_leq(said, 2, "%u of 525,000", said);
}

/* Among few gaps in random order, the same sequence occurs by chance more often. */
Test(arrival, nothing_is_said_of_a_shuffled_pattern) {
    static const double gaps[] = {12, 73, 13, 19, 4, 122, 18, 16, 49, 123, 69, 10, 44, 30, 213, 24};
    uint32_t said = 0;
    for (uint64_t seed = 1; seed <= 500; seed++) {
        struct process p = make(seed);
        for (uint32_t i = 0; i < REQUESTS; i++)
            come(&p, gaps[(int)(unit(&p) * 15.999)] * MS);
        said += p.said;
    }
    cr_expect_leq(said, 20, "%u of 525,000", said);
}

Test(arrival, little_is_said_of_much_jitter_and_of_bursts_at_random) {
    uint32_t jittered = 0, burst = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct process p = make(seed), q = make(seed);
        for (uint32_t i = 0; i < REQUESTS; i++) {
            keep_time(&p, 0.1);
            come(&q, i % 5 == 4 ? exponential(&q, 200 * MS) : 10 * MS);
        }
        jittered += p.said;
        burst += q.said;
    }
    cr_expect_lt(jittered, 20 * REQUESTS / 20, "%u", jittered);
    cr_expect_lt(burst, 20 * REQUESTS / 10, "%u", burst);
}

Test(arrival, a_window_that_is_wide_is_not_said) {
    struct process p = make(1);
    for (uint32_t i = 0; i < REQUESTS; i++) {
        keep_time(&p, 0.05);
        cr_assert_leq(p.a.error_ns * 16, p.a.next_ns ? p.a.next_ns - p.a.last_ns : 0);
    }
    cr_expect_gt(p.said, 0);
}

Test(arrival, times_of_any_size_are_taken) {
    struct process p = make(1);
    come(&p, 0);
    come(&p, 0);
    for (int i = 0; i < 20; i++)
        come(&p, 1e16); /* a third of a year, longer than gaps that count */
    come(&p, 1);
    cr_expect_eq(p.a.count, 22);
}
