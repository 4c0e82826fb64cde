/* SPDX-License-Identifier: Apache-2.0
 *
 * Lanes: dependencies between steps are expressed by lanes and waits only. Chains stay in one lane;
 * branches get separate lanes while there are free ones.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "shim/graph_exec/lanes.h"

/* Adds a step after this place. Returns its lane, and the place after it. */
static uint32_t step(struct lanes *l, const struct lanes_place *after, struct lanes_place *place) {
    uint32_t lane = lanes_choose(l, after), on;
    uint64_t on_seq;
    while (lanes_wait(l, lane, after, &on, &on_seq)) {
        cr_assert(on != lane && on_seq && on_seq <= l->count[on]);
        lanes_put(l, lane);
    }
    lanes_put(l, lane);
    *place = lanes_end(l, lane);
    return lane;
}

static struct lanes_place start(struct lanes *l) {
    memset(l, 0, sizeof(*l));
    lanes_put(l, 0);
    return lanes_end(l, 0);
}

Test(lanes, a_chain_stays_in_one) {
    struct lanes l;
    struct lanes_place at = start(&l);
    for (int i = 0; i < 10; i++)
        cr_expect_eq(step(&l, &at, &at), 0);
    cr_expect_eq(l.count[0], 11, "and waits for nothing");
    cr_expect_eq(lanes_used(&l), 1);
}

Test(lanes, branches_have_their_own_and_come_back) {
    struct lanes l;
    struct lanes_place root = start(&l), a, b, end;
    cr_expect_eq(step(&l, &root, &a), 0);
    cr_expect_eq(step(&l, &root, &b), 1);
    lanes_join(&a, &b);
    cr_expect_eq(step(&l, &a, &end), 0);
    cr_expect_eq(l.count[0], 4, "start, branch, wait, end");
    cr_expect_eq(l.count[1], 2, "wait, branch");
    cr_expect_eq(step(&l, &end, &a), 0);
    cr_expect_eq(step(&l, &end, &b), 1, "all of it is before this fork");
}

Test(lanes, what_was_waited_for_is_not_waited_for_again) {
    struct lanes l;
    struct lanes_place root = start(&l), a, b, both;
    step(&l, &root, &a);
    step(&l, &root, &b);
    both = a;
    lanes_join(&both, &b);
    step(&l, &both, &both);
    uint64_t count = l.count[0];
    lanes_join(&both, &b);
    step(&l, &both, &both);
    cr_expect_eq(l.count[0], count + 1);
}

Test(lanes, more_branches_than_lanes_share) {
    struct lanes l;
    struct lanes_place root = start(&l), at;
    for (uint32_t i = 0; i < 3 * WIRE_GRAPH_LANES; i++)
        cr_expect_lt(step(&l, &root, &at), WIRE_GRAPH_LANES);
    cr_expect_eq(lanes_used(&l), WIRE_GRAPH_LANES);
}

#define STEPS 60

/* One step of a random program: its record, and the records that must be complete when it runs. */
struct told {
    uint32_t lane;
    uint64_t seq;
    struct lanes_place waits; /* in each lane, up to this record */
};

/* True when b runs after a because of lane order and waits only. */
static bool is_after(const struct told *b, const struct told *a, const struct lanes_place *behind) {
    return a->lane == b->lane ? a->seq < b->seq : behind->at[a->lane] >= a->seq;
}

/* Computes the records that a correct device has completed before a record: all earlier ones of
 * its lane, and everything that those and this one waited for. */
static void follow(struct told *steps, struct lanes_place *known, int count, struct told *s) {
    struct lanes_place all = s->waits;
    for (int i = 0; i < count; i++)
        if (is_after(s, &steps[i], &all)) lanes_join(&all, &known[i]);
    all.at[s->lane] = s->seq;
    known[count] = all;
    steps[count] = *s;
}

Test(lanes, any_graph_keeps_its_order, .timeout = 600) {
    srand(7);
    for (int round = 0; round < 500; round++) {
        struct lanes l;
        struct lanes_place root = start(&l), places[STEPS], known[STEPS], waited[WIRE_GRAPH_LANES];
        struct told steps[STEPS];
        memset(waited, 0, sizeof(waited));
        for (int i = 0; i < STEPS; i++) {
            struct lanes_place after = root;
            int before[4], count = i ? rand() % 4 : 0;
            for (int k = 0; k < count; k++) {
                before[k] = rand() % i;
                lanes_join(&after, &places[before[k]]);
            }
            uint32_t lane = lanes_choose(&l, &after), on;
            uint64_t on_seq;
            while (lanes_wait(&l, lane, &after, &on, &on_seq)) {
                lanes_put(&l, lane);
                if (on_seq > waited[lane].at[on]) waited[lane].at[on] = on_seq;
            }
            struct told s = {.lane = lane, .seq = lanes_put(&l, lane), .waits = waited[lane]};
            places[i] = lanes_end(&l, lane);
            follow(steps, known, i, &s);
            for (int k = 0; k < count; k++)
                cr_assert(is_after(&s, &steps[before[k]], &known[i]),
                          "round %d: step %d does not wait for %d", round, i, before[k]);
        }
    }
}
