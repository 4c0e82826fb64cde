/* SPDX-License-Identifier: Apache-2.0
 *
 * Placers that break the promises of place.h are detected and reported; none makes the world hang.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "daemon/sim/place/fleet.h"
#include "daemon/sim/place/fleet_run.h"

/* A placer that repeats one answer about the job. */
struct script {
    struct place_action actions[2];
    struct place_where where[2];
    size_t count, wrong;
    int64_t wake_ns;
    int err;
    bool always; /* or only to steps with a job */
};

static int step(void *self, int64_t now_ns, const struct place_event *events, size_t count,
                struct place_answer *answer) {
    static const struct place_wrong wrong = {0, "so"};
    struct script *s = self;
    bool job = count && events[0].kind == PLACE_JOB;
    for (size_t i = 0; i < s->count; i++)
        s->actions[i].where = s->where;
    *answer = (struct place_answer){.actions = s->actions,
                                    .action_count = job || s->always ? s->count : 0,
                                    .wrong = &wrong,
                                    .wrong_count = job ? s->wrong : 0,
                                    .wake_ns = s->wake_ns};
    return job ? s->err : 0;
}

static uint32_t stranded; /* stranded jobs of the latest run */

static int run(struct script s, char *why) {
    struct fleet_rules rules = {0};
    struct fleet_placer placer = {step, &s};
    struct fleet_result r;
    struct jobset set;
    struct jobset_job job = {.length_s = 10, .tasks = 1, .gpus = 1, .slo = 1, .is = {.util = 1}};
    jobset_init(&set);
    cr_assert_eq(jobset_add_gpus(&set, 2, 2, 1), 0);
    cr_assert_eq(jobset_add_job(&set, &job), 0);
    if (!s.wake_ns) s.wake_ns = INT64_MAX;
    int err = fleet_run(&set, &rules, &placer, &r, why);
    stranded = r.stranded;
    if (!err) fleet_result_finish(&r);
    jobset_finish(&set);
    return err;
}

static struct script one(enum place_action_kind kind, uint64_t id, uint64_t node, uint32_t gpu,
                         uint32_t count) {
    return (struct script){.actions = {{.kind = kind, .id = id, .count = count}},
                           .where = {{node, gpu}, {node, gpu}},
                           .count = 1};
}

static void expect(struct script s, const char *sentence) {
    char why[FLEET_WHY_BYTES];
    cr_expect_eq(run(s, why), -EPROTO, "%s", sentence);
    cr_expect(strstr(why, sentence), "'%s' is not '%s'", why, sentence);
}

Test(fleet_faults, the_honest_one_passes) {
    char why[FLEET_WHY_BYTES];
    cr_expect_eq(run(one(PLACE_START, 1, 1, 1, 1), why), 0, "%s", why);
}

Test(fleet_faults, actions_that_cannot_be_are_found_out) {
    expect(one(PLACE_START, 2, 1, 0, 1), "a job that does not exist");
    expect(one(PLACE_START, 0, 1, 0, 1), "a job that does not exist");
    expect(one(PLACE_START, 1, 2, 0, 1), "a GPU that does not exist");
    expect(one(PLACE_START, 1, 1, 2, 1), "a GPU that does not exist");
    expect(one(PLACE_START, 1, 1, 0, 2), "gets 2 GPUs");
    expect(one(PLACE_START, 1, 1, 0, 0), "gets 0 GPUs");
    expect(one(PLACE_STOP, 1, 1, 0, 0), "is stopped but does not run");
    expect(one((enum place_action_kind)9, 1, 1, 0, 0), "an action is of no known kind");
    struct script twice = one(PLACE_START, 1, 1, 0, 1);
    twice.actions[1] = twice.actions[0];
    twice.count = 2;
    expect(twice, "is started but does not wait");
    twice.actions[1].kind = PLACE_REFUSE;
    expect(twice, "is refused but does not wait");
}

/* A job that does not fit is no fault of the placer. */
Test(fleet_faults, jobs_that_nobody_places_are_counted) {
    char why[FLEET_WHY_BYTES];
    cr_expect_eq(run((struct script){0}, why), 0, "%s", why);
    cr_expect_eq(stranded, 1);
    cr_expect_eq(run(one(PLACE_START, 1, 1, 1, 1), why), 0);
    cr_expect_eq(stranded, 0);
}

Test(fleet_faults, who_wakes_for_nothing_is_found_out) {
    expect((struct script){.wake_ns = 1}, "the simulated time does not advance");
}

Test(fleet_faults, who_refuses_what_happened_is_found_out) {
    expect((struct script){.wrong = 1}, "the placer refuses an event: so");
}

Test(fleet_faults, a_failed_step_is_a_failed_run) {
    char why[FLEET_WHY_BYTES];
    cr_expect_eq(run((struct script){.err = -ENOMEM}, why), -ENOMEM);
    cr_expect_str_eq(why, "out of memory");
}
