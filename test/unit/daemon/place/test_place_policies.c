/* SPDX-License-Identifier: Apache-2.0
 *
 * Each policy as the papers define it, in clusters of a few GPUs.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "test/lib/place/placecase.h"

static struct placecase start(const char *policy) {
    struct placecase c;
    placecase_init(&c, &(struct place_config){.policy = policy});
    return c;
}

/* Returns the place of a new job: 100 * node + GPU, or -1. */
static int comes(struct placecase *c, struct place_job job) {
    placecase_come(c, job);
    return placecase_on(c, job.id);
}

Test(place_policies, there_are_ten) {
    const char *const *names = place_policies();
    uint32_t count = 0;
    for (; names[count]; count++) {
        struct placecase c = start(names[count]);
        placecase_finish(&c);
    }
    cr_expect_eq(count, 10);
    cr_expect_str_eq(names[0], "horus");
}

static void expect_refused(struct place_config config, const char *words) {
    struct place *p = NULL;
    char why[160] = "";
    cr_expect_eq(place_create(&p, &config, why, sizeof(why)), -EINVAL, "%s", words);
    cr_expect(strstr(why, words), "'%s' is not in '%s'", words, why);
    cr_expect_eq(place_create(&p, &config, NULL, 0), -EINVAL);
    cr_expect_null(p);
}

Test(place_policies, configurations_that_cannot_be) {
    expect_refused((struct place_config){.policy = "best"}, "no policy 'best'");
    expect_refused((struct place_config){.memory = (enum place_memory)2}, "memory mode");
    expect_refused((struct place_config){.queues = 17}, "16 queues");
    expect_refused((struct place_config){.w_mem = -1}, "weight");
    expect_refused((struct place_config){.w_util = 1e300}, "weight");
    expect_refused((struct place_config){.more = 1}, "ran out of it");
    expect_refused((struct place_config){.drop = 1}, "drop in speed");
    expect_refused((struct place_config){.warm_ns = -1}, "warm-up");
    expect_refused((struct place_config){.separate_ratio = -5}, "ratio");
    expect_refused((struct place_config){.util_most = 0.9}, "util_most");
    expect_refused((struct place_config){.curve_count = 17}, "16 curves");
    expect_refused((struct place_config){.curve_count = 2, .curves = {{0}, {1e9, 0, 0}}},
                   "curve 1");
}

/* Strictly in order: a job of two GPUs blocks a later one of one GPU. */
Test(place_policies, fifo_blocks) {
    struct placecase c = start("fifo");
    struct place_job two = placecase_job(2, 0.1, 1);
    two.gpus = 2;
    placecase_node(&c, 1, 2, 16);
    cr_expect_eq(comes(&c, placecase_job(1, 0.1, 1)), 100);
    cr_expect_eq(comes(&c, two), -1);
    cr_expect_eq(comes(&c, placecase_job(3, 0.1, 1)), -1);
    placecase_go(&c, 1);
    cr_expect_eq(placecase_on(&c, 2), 100);
    placecase_go(&c, 2);
    cr_expect_eq(placecase_on(&c, 3), 100);
    placecase_finish(&c);
}

Test(place_policies, alone_passes_by) {
    struct placecase c = start("alone");
    struct place_job two = placecase_job(2, 0.1, 1);
    two.gpus = 2;
    placecase_node(&c, 1, 2, 16);
    cr_expect_eq(comes(&c, placecase_job(1, 0.1, 1)), 100);
    cr_expect_eq(comes(&c, two), -1);
    cr_expect_eq(comes(&c, placecase_job(3, 0.1, 1)), 101);
    cr_expect_eq(comes(&c, placecase_job(4, 0.1, 1)), -1, "no GPU is shared");
    placecase_finish(&c);
}

/* By memory only: the first GPU has more memory used, the second is busier. */
Test(place_policies, obp_and_best_fit_look_at_memory) {
    for (int fit = 0; fit < 2; fit++) {
        struct placecase c = start(fit ? "best_fit" : "obp");
        placecase_node(&c, 1, 2, 16);
        placecase_at(&c, PLACE_NODE_SHUT, 1);
        placecase_node(&c, 2, 1, 16);
        cr_expect_eq(comes(&c, placecase_job(1, 0.1, 6)), 200);
        placecase_at(&c, PLACE_NODE_SHUT, 2);
        placecase_at(&c, PLACE_NODE_OPEN, 1);
        cr_expect_eq(comes(&c, placecase_job(2, 1, 4)), 100);
        placecase_at(&c, PLACE_NODE_OPEN, 2);
        placecase_come(&c, placecase_job(3, 1, 9));
        cr_expect_eq(placecase_on(&c, 3), fit ? 200 : 101);
        placecase_finish(&c);
    }
}

/* Horus weighs both: a busy GPU with little memory used against an idle one with much. */
Test(place_policies, horus_takes_the_cheapest) {
    struct placecase c = start("horus");
    placecase_node(&c, 1, 1, 16);
    cr_expect_eq(comes(&c, placecase_job(1, 1, 2)), 100);
    placecase_node(&c, 2, 1, 16);
    cr_expect_eq(comes(&c, placecase_job(2, 0.1, 10)), 200);
    /* 6/16 + f(1.8) = 0.375 + 0.744 against 14/16. */
    cr_expect_eq(comes(&c, placecase_job(3, 0.8, 4)), 200);
    /* 3/16 + f(1.1) = 0.1875 + 0.0114 against 15/16. */
    cr_expect_eq(comes(&c, placecase_job(4, 0.1, 1)), 100);
    placecase_finish(&c);
}

Test(place_policies, of_equals_the_first_that_came) {
    struct placecase c = start("horus");
    placecase_node(&c, 9, 2, 16);
    placecase_node(&c, 3, 2, 16);
    cr_expect_eq(comes(&c, placecase_job(1, 0.1, 1)), 900);
    cr_expect_eq(comes(&c, placecase_job(2, 0.1, 1)), 901);
    cr_expect_eq(comes(&c, placecase_job(3, 0.1, 1)), 300);
    placecase_at(&c, PLACE_NODE_GONE, 9);
    placecase_finish(&c);
}

/* ---- pab ------------------------------------------------------------------------------------- */

static void speed(struct placecase *c, uint64_t id, double speed, int64_t at_s) {
    c->now_ns = at_s * PLACECASE_S;
    placecase_tell(c, (struct place_event){.kind = PLACE_MEASURED, .id = id, .speed = speed});
}

/* Job 1 runs alone at speed 10; job 2 joins at 100 s. */
static struct placecase two_share(void) {
    struct placecase c = start("pab");
    placecase_node(&c, 1, 1, 16);
    placecase_come(&c, placecase_job(1, 0.9, 1));
    speed(&c, 1, 10, 60);
    c.now_ns = 100 * PLACECASE_S;
    cr_assert_eq(comes(&c, placecase_job(2, 0.9, 1)), 100);
    return c;
}

Test(place_policies, pab_puts_back_who_slows_another_down) {
    struct placecase c = two_share();
    speed(&c, 1, 1, 159);
    cr_expect_eq(c.answer.action_count, 0, "2 is not warm");
    speed(&c, 1, 4.9, 160);
    cr_assert_eq(c.answer.action_count, 1, "and goes nowhere else");
    cr_expect_eq(c.answer.actions[0].kind, PLACE_STOP);
    cr_expect_eq(c.answer.actions[0].id, 2);
    cr_expect(strstr(c.answer.actions[0].why, "slowed"));
    cr_expect_eq(placecase_use(&c, 1, 0).jobs, 1);
    cr_expect_eq(comes(&c, placecase_job(3, 0.1, 1)), 100, "others may come there");
    cr_expect_eq(placecase_on(&c, 2), -1);
    placecase_node(&c, 2, 1, 16);
    cr_expect_eq(placecase_on(&c, 2), 200);
    placecase_finish(&c);
}

Test(place_policies, pab_leaves_who_slows_little) {
    struct placecase c = two_share();
    speed(&c, 1, 5, 160);
    cr_expect_eq(c.answer.action_count, 0, "half is not below half");
    speed(&c, 1, 2, 161);
    cr_expect_eq(c.answer.action_count, 0, "it was judged");
    placecase_finish(&c);
}

/* Without an earlier speed there is nothing to compare with. */
Test(place_policies, pab_judges_nobody_by_a_cold_speed) {
    struct placecase c = start("pab");
    placecase_node(&c, 1, 1, 16);
    placecase_come(&c, placecase_job(1, 0.9, 1));
    speed(&c, 1, 10, 59);
    placecase_come(&c, placecase_job(2, 0.9, 1));
    speed(&c, 1, 1, 200);
    cr_expect_eq(c.answer.action_count, 0);
    placecase_finish(&c);
}

Test(place_policies, pab_lets_it_back_where_the_other_is_gone) {
    struct placecase c = two_share();
    placecase_come(&c, placecase_job(3, 0.9, 1));
    placecase_go(&c, 3);
    speed(&c, 1, 1, 160);
    cr_expect_eq(c.answer.action_count, 0, "the last that came is gone already");
    placecase_finish(&c);
    c = two_share();
    speed(&c, 1, 1, 160);
    cr_expect_eq(c.answer.action_count, 1);
    placecase_go(&c, 1);
    cr_expect_eq(placecase_on(&c, 2), 100);
    placecase_finish(&c);
}

Test(place_policies, pab_puts_back_to_the_end) {
    struct placecase c = two_share();
    struct place_job large = placecase_job(3, 0.1, 16);
    cr_expect_eq(comes(&c, large), -1);
    speed(&c, 1, 1, 160);
    placecase_go(&c, 1);
    cr_assert_eq(c.answer.action_count, 1);
    cr_expect_eq(placecase_on(&c, 3), 100, "it waited before");
    placecase_finish(&c);
}

/* ---- GPUColo, section VIII ------------------------------------------------------------------- */

/* One GPU a node: the first is for training, five are for services, the seventh for training. */
Test(place_policies, separate_keeps_to_the_ratio) {
    struct placecase c = start("separate");
    for (uint64_t node = 1; node <= 7; node++)
        placecase_node(&c, node, 1, 16);
    cr_expect_eq(comes(&c, placecase_job(1, 0.1, 1)), 100);
    cr_expect_eq(comes(&c, placecase_job(2, 0.1, 1)), 700);
    cr_expect_eq(comes(&c, placecase_job(3, 0.1, 1)), -1, "services' GPUs are idle");
    for (uint64_t node = 2; node <= 6; node++)
        cr_expect_eq(comes(&c, placecase_service(10 + node, 0.1, 1, 0)), (int)(100 * node));
    cr_expect_eq(comes(&c, placecase_service(20, 0.1, 1, 0)), -1);
    placecase_at(&c, PLACE_NODE_GONE, 7);
    placecase_go(&c, 2);
    placecase_node(&c, 8, 1, 16);
    cr_expect_eq(placecase_on(&c, 3), 800, "one for trainings is missing again");
    placecase_finish(&c);
}

Test(place_policies, gslice_shares_among_services) {
    struct placecase c = start("gslice");
    placecase_node(&c, 1, 3, 16);
    cr_expect_eq(comes(&c, placecase_service(1, 0.5, 1, 0)), 100);
    cr_expect_eq(comes(&c, placecase_service(2, 0.5, 1, 0)), 100, "nobody is slowed down");
    cr_expect_eq(comes(&c, placecase_job(3, 0.1, 1)), 101, "trainings have theirs");
    cr_expect_eq(comes(&c, placecase_job(4, 0.1, 1)), 102);
    cr_expect_eq(comes(&c, placecase_job(5, 0.1, 1)), -1, "alone");
    cr_expect_eq(comes(&c, placecase_service(6, 0.1, 1, 0)), -1);
    cr_expect_eq(comes(&c, placecase_service(7, 0.1, 1, 9)), -1, "the others' slack is held");
    placecase_go(&c, 4);
    placecase_go(&c, 1);
    placecase_finish(&c);
}

/* f(1.5) is 0.29. */
Test(place_policies, gslice_uses_the_slack) {
    struct placecase c = start("gslice");
    placecase_node(&c, 1, 2, 16);
    cr_expect_eq(comes(&c, placecase_service(1, 0.9, 1, 0.3)), 100);
    cr_expect_eq(comes(&c, placecase_service(2, 0.6, 1, 0.29)), 101, "its own is too little");
    cr_expect_eq(comes(&c, placecase_service(3, 0.6, 1, 0.3)), 100);
    placecase_finish(&c);
}

Test(place_policies, gpucolo_puts_trainings_beside_services) {
    struct placecase c = start("gpucolo");
    placecase_node(&c, 1, 3, 16);
    cr_expect_eq(comes(&c, placecase_service(1, 0.5, 1, 0)), 100);
    cr_expect_eq(comes(&c, placecase_job(2, 0.3, 1)), 100);
    cr_expect_eq(comes(&c, placecase_job(3, 0.3, 1)), 101, "1.1 of a GPU");
    cr_expect_eq(comes(&c, placecase_service(4, 0.2, 1, 0)), 100, "the fullest that has room");
    cr_expect_eq(comes(&c, placecase_service(5, 0.5, 1, 0)), 101);
    placecase_finish(&c);
}

/* Services among themselves as with gslice, even above a whole GPU where no training runs. */
Test(place_policies, gpucolo_holds_the_slack) {
    struct placecase c = start("gpucolo");
    placecase_node(&c, 1, 2, 16);
    cr_expect_eq(comes(&c, placecase_service(1, 0.9, 1, 0.3)), 100);
    cr_expect_eq(comes(&c, placecase_service(2, 0.6, 1, 0.29)), 101);
    cr_expect_eq(comes(&c, placecase_service(3, 0.6, 1, 0.3)), 100);
    cr_expect_eq(comes(&c, placecase_job(4, 0.01, 1)), 101, "nothing is left on the other");
    placecase_finish(&c);
}

/* Above a whole GPU, a service is slowed down by other services only. */
Test(place_policies, gpucolo_lets_trainings_be_slowed_down) {
    struct placecase c;
    placecase_init(&c, &(struct place_config){.policy = "gpucolo", .util_most = 1.5});
    placecase_node(&c, 1, 1, 16);
    cr_expect_eq(comes(&c, placecase_service(1, 0.6, 1, 0)), 100);
    cr_expect_eq(comes(&c, placecase_job(2, 0.5, 1)), 100);
    cr_expect_eq(comes(&c, placecase_service(3, 0.4, 1, 0)), 100);
    cr_expect_eq(comes(&c, placecase_service(4, 0.01, 1, 0)), -1);
    placecase_finish(&c);
}

/* ---- no job waits for ever ------------------------------------------------------------------- */

/* Small jobs of ten steps arrive all the time; one job wants a whole GPU of two. With horus it
 * never gets one. Returns the time when it started, or 0. */
static uint32_t starts_at(const char *policy, uint32_t patience) {
    struct placecase c;
    placecase_init(&c, &(struct place_config){.policy = policy, .patience = patience});
    placecase_node(&c, 1, 1, 16);
    placecase_node(&c, 2, 1, 16);
    uint32_t started = 0;
    for (uint32_t i = 1; i <= 400 && !started; i++) {
        c.now_ns += PLACECASE_S;
        placecase_come(&c, placecase_job(1000 + i, 0.1, 3));
        if (i == 20) placecase_come(&c, placecase_job(1, 0.1, 16));
        if (i > 10) placecase_go(&c, 1000 + i - 10);
        if (placecase_on(&c, 1) >= 0) started = i;
    }
    placecase_finish(&c);
    return started;
}

Test(place_policies, horus_f_passes_nobody_by_for_ever) {
    cr_expect_eq(starts_at("horus", 20), 0);
    uint32_t soon = starts_at("horus_f", 20), late = starts_at("horus_f", 200);
    cr_expect(soon > 40 && soon <= 20 + 20 + 11, "at %u", soon);
    cr_expect(late > 220 && late <= 20 + 200 + 11, "at %u", late);
}

/* The node that was kept for the job disappears, and another one is kept. */
Test(place_policies, what_is_kept_may_go_away) {
    struct placecase c;
    placecase_init(&c, &(struct place_config){.policy = "horus_f", .patience = 1});
    placecase_node(&c, 1, 1, 16);
    placecase_node(&c, 2, 1, 16);
    placecase_come(&c, placecase_job(1, 0.1, 9));
    placecase_come(&c, placecase_job(2, 0.1, 9));
    placecase_come(&c, placecase_job(3, 0.1, 16)); /* waits */
    cr_expect_eq(comes(&c, placecase_job(4, 0.1, 1)), 100);
    cr_expect_eq(comes(&c, placecase_job(5, 0.1, 1)), 100, "node 2 is kept");
    struct place_event events[] = {{.kind = PLACE_NODE_GONE, .id = 2},
                                   {.kind = PLACE_GONE, .id = 2}};
    placecase_tell_all(&c, events, 2);
    cr_expect_eq(comes(&c, placecase_job(6, 0.1, 1)), -1, "node 1 is");
    placecase_go(&c, 1);
    placecase_go(&c, 4);
    placecase_go(&c, 5);
    cr_expect_eq(placecase_on(&c, 3), 100);
    placecase_finish(&c);
}
