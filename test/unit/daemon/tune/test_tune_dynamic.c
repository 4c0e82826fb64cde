/* SPDX-License-Identifier: Apache-2.0
 *
 * DynamicFluid: which trials are resized, when that is worthwhile, and the GPUs of a trial during a
 * resize.
 */
#include <criterion/criterion.h>

#include "test/lib/tune/fluidrun.h"

#define S 1000000000ll

static const struct salus_fluid_trial *at(const struct fluidrun *r, uint64_t id) {
    return fluidrun_trial(r, id);
}

static void begin(struct fluidrun *r, const struct salus_fluid_config *config,
                  const int64_t *left_s, uint32_t count, double beta) {
    struct salus_fluid_event events[8];
    fluidrun_init(r, config);
    for (uint32_t i = 0; i < count; i++) {
        events[i] = fluidrun_join(i + 1, left_s[i] * S);
        events[i].beta = beta;
    }
    fluidrun_step(r, events, count);
}

static void tell(struct fluidrun *r, uint32_t kind, uint64_t id) {
    fluidrun_step(r, &(struct salus_fluid_event){.kind = kind, .id = id, .gpu = (uint32_t)id}, 1);
    cr_assert_null(r->broken, "%s", r->broken);
    cr_assert_eq(r->plan.refused, 0);
}

/* ---- growing --------------------------------------------------------------------------------- */

/* Two GPUs, one each; the shorter trial ends, and the other gets both. */
Test(tune_dynamic, the_rest_gets_what_is_freed) {
    const struct salus_fluid_config config = {.gpus = 2, .spread_most = 2, .change_ns = S / 2};
    struct fluidrun r;
    begin(&r, &config, (int64_t[]){6, 6}, 2, 1);
    tell(&r, SALUS_FLUID_END, 1);
    cr_expect_eq(at(&r, 2)->share, 2);
    cr_expect_eq(at(&r, 2)->state, SALUS_FLUID_RESIZING);
    cr_expect_eq(at(&r, 2)->end_ns, S / 2 + 3 * S);
    cr_expect_eq(at(&r, 2)->gpu_count, 2);
    cr_expect_eq(r.plan.idle, 0);
    fluidrun_finish(&r);
}

/* 6 s become 3 s and epsilon. */
Test(tune_dynamic, only_if_it_is_worth_epsilon) {
    for (int64_t change_ns = 3 * S - 1; change_ns <= 3 * S; change_ns++) {
        const struct salus_fluid_config config = {
            .gpus = 2, .spread_most = 2, .change_ns = change_ns};
        struct fluidrun r;
        begin(&r, &config, (int64_t[]){6, 6}, 2, 1);
        tell(&r, SALUS_FLUID_END, 1);
        cr_expect_eq(at(&r, 2)->share, change_ns < 3 * S ? 2 : 1);
        fluidrun_finish(&r);
    }
}

Test(tune_dynamic, not_with_static) {
    const struct salus_fluid_config config = {
        .gpus = 2, .spread_most = 2, .flags = SALUS_FLUID_STATIC};
    struct fluidrun r;
    begin(&r, &config, (int64_t[]){6, 6}, 2, 1);
    tell(&r, SALUS_FLUID_END, 1);
    cr_expect_eq(at(&r, 2)->share, 1);
    cr_expect_eq(r.plan.resizes, 0);
    fluidrun_finish(&r);
}

/* Trials of 8 and 7 s share a GPU, 9 has one alone. On a third GPU 8 s take 8 and epsilon, not
 * 12. The trial that shared leaves its share at once, and the other one has the whole GPU. */
Test(tune_dynamic, who_shares_may_get_a_whole_gpu) {
    const struct salus_fluid_config config = {
        .gpus = 2, .gpus_most = 3, .packed_most = 2, .spread_most = 2, .change_ns = S};
    struct salus_fluid_event events[3] = {fluidrun_join(1, 9 * S), fluidrun_join(2, 8 * S),
                                          fluidrun_join(3, 7 * S)};
    struct fluidrun r;
    fluidrun_init(&r, &config);
    for (uint32_t i = 0; i < 3; i++)
        events[i].alpha = 1.5;
    fluidrun_step(&r, events, 3);
    cr_assert_eq(at(&r, 1)->part, 1);
    cr_assert_eq(at(&r, 2)->part, 0.5);
    cr_assert_eq(at(&r, 3)->part, 0.5);
    tell(&r, SALUS_FLUID_GPU_CAME, 2);
    cr_expect_eq(at(&r, 2)->share, 1);
    cr_expect_eq(at(&r, 2)->end_ns, 9 * S);
    cr_expect_eq(r.plan.gpus[at(&r, 2)->gpu_first], 2);
    cr_expect_eq(at(&r, 3)->part, 1);
    cr_expect_eq(at(&r, 3)->changed, 1);
    cr_expect_eq(at(&r, 1)->changed, 0);
    fluidrun_finish(&r);
}

/* ---- shrinking ------------------------------------------------------------------------------- */

/* Four GPUs with beta 1.2: a trial on three that deserves one now uses 1.44 times its time. */
static void two_wide(struct fluidrun *r, uint32_t waiting) {
    const struct salus_fluid_config config = {
        .gpus = 4, .packed_most = 1, .spread_most = 3, .change_ns = S / 10};
    begin(r, &config, (int64_t[]){30, 9}, 2, 1.2);
    cr_assert_eq(at(r, 1)->share, 3);
    cr_assert_eq(at(r, 2)->share, 1);
    struct salus_fluid_event now[3] = {{.kind = SALUS_FLUID_LEFT, .id = 1, .left_ns = 6 * S},
                                       {.kind = SALUS_FLUID_LEFT, .id = 2, .left_ns = 20 * S},
                                       {.kind = SALUS_FLUID_END, .id = 3}};
    for (uint32_t i = 0; i <= waiting; i++) {
        struct salus_fluid_event next = fluidrun_join(3 + i, S);
        next.group = 2;
        fluidrun_step(r, &next, 1);
    }
    fluidrun_step(r, now, 3);
    cr_assert_eq(r->plan.waiting, waiting);
}

/* "There are not pending jobs in the queue" (section 3.3.3). */
Test(tune_dynamic, not_while_others_wait) {
    struct fluidrun r;
    two_wide(&r, 1);
    cr_expect_eq(at(&r, 1)->share, 3);
    fluidrun_finish(&r);
}

Test(tune_dynamic, who_deserves_less_gives_gpus_up) {
    struct fluidrun r;
    two_wide(&r, 0);
    cr_expect_eq(at(&r, 1)->share, 1);
    cr_expect_eq(at(&r, 1)->state, SALUS_FLUID_RESIZING);
    cr_expect_eq(at(&r, 1)->gpu_count, 1);
    fluidrun_finish(&r);
}

/* Until the first trial has settled, the GPUs that it must leave are neither its own nor idle; then
 * the second gets them. */
Test(tune_dynamic, gpus_are_free_when_they_have_been_left) {
    struct fluidrun r;
    two_wide(&r, 0);
    cr_expect_eq(r.plan.idle, 0);
    cr_expect_eq(at(&r, 2)->share, 1);
    r.now_ns = S / 10;
    tell(&r, SALUS_FLUID_SETTLED, 1);
    cr_expect_eq(at(&r, 2)->share, 3);
    cr_expect_eq(at(&r, 2)->gpu_count, 3);
    cr_expect_eq(r.plan.idle, 0);
    fluidrun_finish(&r);
}

Test(tune_dynamic, one_that_ends_while_it_is_resized_leaves_everything) {
    struct fluidrun r;
    two_wide(&r, 0);
    tell(&r, SALUS_FLUID_END, 1);
    cr_expect_eq(at(&r, 2)->share, 3);
    cr_expect_eq(r.plan.idle, 1);
    fluidrun_finish(&r);
}

Test(tune_dynamic, a_gpu_that_is_to_be_left_may_go) {
    struct fluidrun r;
    two_wide(&r, 0);
    for (uint32_t gpu = 0; gpu < 4; gpu++) {
        bool kept = false;
        for (uint32_t i = 0; i < 2; i++)
            kept |= r.plan.gpus[r.plan.trials[i].gpu_first] == gpu;
        if (kept) continue;
        tell(&r, SALUS_FLUID_GPU_GONE, gpu);
        cr_expect_eq(at(&r, 1)->share, 1);
        cr_expect_eq(r.plan.waiting, 0);
    }
    fluidrun_finish(&r);
}

/* Ten GPUs: one trial on three, seven on one each. Later the first has 8 s left, which deserves
 * 1.95 GPUs, and each of the others 4.7 s. On one GPU it would use 8 s of GPU time instead of
 * 11.5, and end last. */
static double share_of_the_wide(uint32_t flags) {
    const struct salus_fluid_config config = {
        .gpus = 10, .packed_most = 1, .spread_most = 4, .change_ns = S / 10, .flags = flags};
    struct salus_fluid_event events[9] = {{.kind = SALUS_FLUID_END, .id = 9}};
    struct fluidrun r;
    begin(&r, &config, (int64_t[]){36, 12, 12, 12, 12, 12, 12, 12}, 8, 1.2);
    cr_assert_eq(at(&r, 1)->share, 3);
    struct salus_fluid_event ninth = fluidrun_join(9, S);
    ninth.group = 2;
    fluidrun_step(&r, &ninth, 1);
    for (uint32_t i = 1; i < 9; i++)
        events[i] = (struct salus_fluid_event){
            .kind = SALUS_FLUID_LEFT, .id = i, .left_ns = i == 1 ? 8 * S : 47 * S / 10};
    fluidrun_step(&r, events, 9);
    double share = at(&r, 1)->share;
    fluidrun_finish(&r);
    return share;
}

Test(tune_dynamic, nobody_gives_gpus_up_to_be_the_last) {
    cr_expect_eq(share_of_the_wide(0), 3);
    cr_expect_eq(share_of_the_wide(SALUS_FLUID_DOWN_ANY), 1, "as Algorithm 3.2 prints it");
}

/* The only GPU of a trial that deserves less is shared with others as it is: no trial restarts. */
Test(tune_dynamic, one_gpu_is_shared_without_a_restart) {
    const struct salus_fluid_config config = {
        .gpus = 2, .gpus_most = 3, .packed_most = 2, .spread_most = 3, .change_ns = S / 1000};
    struct fluidrun r;
    begin(&r, &config, (int64_t[]){10, 10}, 2, 1);
    struct salus_fluid_event left = {.kind = SALUS_FLUID_LEFT, .id = 2, .left_ns = S};
    fluidrun_step(&r, &left, 1);
    tell(&r, SALUS_FLUID_GPU_CAME, 2);
    cr_expect_eq(at(&r, 1)->share, 2);
    cr_expect_eq(at(&r, 2)->share, 0.5);
    cr_expect_eq(at(&r, 2)->part, 1);
    cr_expect_eq(at(&r, 2)->state, SALUS_FLUID_RUNNING);
    cr_expect_eq(r.plan.resizes, 1);
    fluidrun_finish(&r);
}

/* ---- GPUs for later trials ------------------------------------------------------------------- */

static void join_next(struct fluidrun *r, uint64_t id, int64_t left_ns) {
    struct salus_fluid_event e = fluidrun_join(id, left_ns);
    fluidrun_step(r, &e, 1);
    cr_assert_null(r->broken, "%s", r->broken);
}

/* Trials join one by one: the first has all four GPUs, and the others wait for it to end. */
Test(tune_dynamic, who_joins_later_waits) {
    const struct salus_fluid_config config = {.gpus = 4, .packed_most = 4, .spread_most = 4};
    struct fluidrun r;
    begin(&r, &config, (int64_t[]){80}, 1, 1);
    for (uint64_t id = 2; id <= 4; id++)
        join_next(&r, id, 80 * S);
    cr_expect_eq(at(&r, 1)->share, 4);
    cr_expect_eq(r.plan.waiting, 3);
    fluidrun_finish(&r);
}

/* The first shrinks to two GPUs; the others get the rest when it has left them. */
Test(tune_dynamic, with_room_the_first_comes_down_to_its_share) {
    const struct salus_fluid_config config = {
        .gpus = 4, .packed_most = 4, .spread_most = 4, .change_ns = S, .flags = SALUS_FLUID_ROOM};
    struct fluidrun r;
    begin(&r, &config, (int64_t[]){80}, 1, 1);
    for (uint64_t id = 2; id <= 4; id++)
        join_next(&r, id, 80 * S);
    cr_expect_eq(at(&r, 1)->share, 2);
    cr_expect_eq(at(&r, 1)->state, SALUS_FLUID_RESIZING);
    cr_expect_eq(r.plan.waiting, 3);
    r.now_ns = S;
    tell(&r, SALUS_FLUID_SETTLED, 1);
    cr_expect_eq(r.plan.waiting, 0);
    cr_expect_eq(r.plan.idle, 0);
    fluidrun_finish(&r);
}

/* A single GPU is shared in the same step, without a restart. */
Test(tune_dynamic, room_is_made_on_one_gpu_at_once) {
    const struct salus_fluid_config config = {
        .gpus = 1, .packed_most = 2, .change_ns = S, .flags = SALUS_FLUID_ROOM};
    struct fluidrun r;
    begin(&r, &config, (int64_t[]){80}, 1, 1);
    cr_assert_eq(at(&r, 1)->share, 1);
    join_next(&r, 2, 80 * S);
    cr_expect_eq(r.plan.waiting, 0);
    cr_expect_eq(at(&r, 1)->part, 0.5);
    cr_expect_eq(at(&r, 2)->part, 0.5);
    cr_expect_eq(r.plan.resizes, 0);
    fluidrun_finish(&r);
}

Test(tune_dynamic, who_ends_within_epsilon_makes_no_room) {
    for (int64_t left_ns = 4 * S; left_ns <= 4 * S + 4; left_ns += 4) {
        const struct salus_fluid_config config = {
            .gpus = 4, .spread_most = 4, .change_ns = S, .flags = SALUS_FLUID_ROOM};
        struct fluidrun r;
        begin(&r, &config, (int64_t[]){9}, 1, 1);
        struct salus_fluid_event left = {.kind = SALUS_FLUID_LEFT, .id = 1, .left_ns = left_ns};
        fluidrun_step(&r, &left, 1);
        join_next(&r, 2, 8 * S);
        cr_expect_eq(at(&r, 1)->share, left_ns == 4 * S ? 4 : 1);
        fluidrun_finish(&r);
    }
}

/* Sharing a GPU needs no resize, so it costs no epsilon, however large epsilon is. */
Test(tune_dynamic, room_on_one_gpu_costs_no_epsilon) {
    const struct salus_fluid_config config = {
        .gpus = 1, .packed_most = 2, .change_ns = INT64_MAX / 4, .flags = SALUS_FLUID_ROOM};
    struct fluidrun r;
    begin(&r, &config, (int64_t[]){80}, 1, 1);
    join_next(&r, 2, 80 * S);
    cr_expect_eq(r.plan.waiting, 0);
    fluidrun_finish(&r);
}

/* ---- overheads measured later ---------------------------------------------------------------- */

static void known(struct fluidrun *r, uint64_t id, uint32_t packed_most, uint32_t spread_most) {
    struct salus_fluid_event e = {.kind = SALUS_FLUID_KNOWN,
                                  .id = id,
                                  .alpha = 1,
                                  .beta = 1,
                                  .packed_most = packed_most,
                                  .spread_most = spread_most};
    fluidrun_step(r, &e, 1);
    cr_assert_null(r->broken, "%s", r->broken);
    cr_assert_eq(r->plan.refused, 0);
}

/* One GPU, four trials, c = 1; then 2 for all. The waiting trials start, and the first gets a
 * half. */
Test(tune_dynamic, who_waits_comes_in_when_c_is_known) {
    const struct salus_fluid_config config = {
        .gpus = 1, .packed_most = 1, .change_ns = S, .flags = SALUS_FLUID_ROOM};
    struct fluidrun r;
    begin(&r, &config, (int64_t[]){80, 80, 80, 80}, 4, 1);
    cr_expect_eq(r.plan.waiting, 3);
    for (uint64_t id = 4; id >= 1; id--)
        known(&r, id, 2, 1);
    cr_expect_eq(r.plan.waiting, 2);
    cr_expect_eq(at(&r, 1)->part, 0.5);
    for (uint64_t id = 4; id >= 1; id--)
        known(&r, id, 4, 1);
    cr_expect_eq(r.plan.waiting, 0);
    for (uint64_t id = 1; id <= 4; id++) {
        cr_expect_eq(at(&r, id)->share, 0.25);
        cr_expect_eq(at(&r, id)->part, 0.25);
    }
    fluidrun_finish(&r);
}

/* Two trials share a GPU when c turns out to be 1: they stay, and no trial joins them. */
Test(tune_dynamic, a_lower_c_sends_nobody_away) {
    const struct salus_fluid_config config = {
        .gpus = 1, .packed_most = 2, .change_ns = S, .flags = SALUS_FLUID_ROOM};
    struct fluidrun r;
    begin(&r, &config, (int64_t[]){80, 80, 80}, 3, 1);
    for (uint64_t id = 1; id <= 3; id++)
        known(&r, id, 1, 1);
    cr_expect_eq(r.plan.waiting, 1);
    tell(&r, SALUS_FLUID_END, 1);
    cr_expect_eq(at(&r, 3)->state, SALUS_FLUID_WAITING);
    tell(&r, SALUS_FLUID_END, 2);
    cr_expect_eq(at(&r, 3)->share, 1);
    fluidrun_finish(&r);
}

/* Two trials share a GPU, and c turns out to be 1; then the GPU disappears, or one of them
 * restarts. */
Test(tune_dynamic, a_lower_c_counts_from_the_next_place_on) {
    const struct salus_fluid_config config = {.gpus = 1, .packed_most = 2};
    for (uint32_t dies = 0; dies < 2; dies++) {
        struct fluidrun r;
        begin(&r, &config, (int64_t[]){80, 80}, 2, 1);
        known(&r, 1, 1, 1);
        known(&r, 2, 1, 1);
        cr_assert_eq(at(&r, 2)->share, 0.5, "who runs keeps what it has");
        tell(&r, dies ? SALUS_FLUID_DIED : SALUS_FLUID_GPU_GONE, dies);
        if (!dies) tell(&r, SALUS_FLUID_GPU_CAME, 0);
        cr_expect_eq(r.plan.waiting, 1);
        fluidrun_finish(&r);
    }
}

/* A trial is on two GPUs when d turns out to be 1. It keeps them until it dies, and is then placed
 * on one. */
Test(tune_dynamic, a_lower_d_counts_from_the_next_place_on) {
    const struct salus_fluid_config config = {.gpus = 2, .spread_most = 2, .change_ns = 100 * S};
    struct fluidrun r;
    begin(&r, &config, (int64_t[]){80}, 1, 1);
    known(&r, 1, 1, 1);
    tell(&r, SALUS_FLUID_DIED, 1);
    cr_expect_eq(at(&r, 1)->share, 1);
    fluidrun_finish(&r);
}

/* A trial is on two GPUs when d turns out to be 1. */
Test(tune_dynamic, a_lower_d_takes_no_gpu_away) {
    const struct salus_fluid_config config = {.gpus = 2, .spread_most = 2, .change_ns = 100 * S};
    struct fluidrun r;
    begin(&r, &config, (int64_t[]){80}, 1, 1);
    cr_assert_eq(at(&r, 1)->share, 2);
    known(&r, 1, 1, 1);
    cr_expect_eq(at(&r, 1)->share, 2);
    fluidrun_finish(&r);
}

Test(tune_dynamic, an_overhead_below_1_is_not_known) {
    const struct salus_fluid_config config = {.gpus = 1};
    struct fluidrun r;
    begin(&r, &config, (int64_t[]){80}, 1, 1);
    struct salus_fluid_event e = {.kind = SALUS_FLUID_KNOWN, .id = 1, .alpha = 0.5, .beta = 1};
    fluidrun_step(&r, &e, 1);
    cr_assert_eq(r.plan.refused, 1);
    cr_expect_eq(r.plan.refusals[0].fault, SALUS_FLUID_FAULT_OVERHEAD);
    fluidrun_finish(&r);
}
