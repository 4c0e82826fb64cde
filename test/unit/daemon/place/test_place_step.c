/* SPDX-License-Identifier: Apache-2.0
 *
 * Events of jobs and nodes, for any policy: valid events and invalid ones, and the result of each.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "test/lib/place/placecase.h"

static struct placecase start(const char *policy) {
    struct placecase c;
    placecase_init(&c, &(struct place_config){.policy = policy});
    return c;
}

/* ---- invalid events -------------------------------------------------------------------------- */

static void expect_wrong(struct placecase *c, struct place_event e, const char *words) {
    const char *why = placecase_try(c, e);
    cr_expect(why && strstr(why, words), "'%s' is not in '%s'", words, why ? why : "nothing");
    cr_expect_eq(c->answer.action_count, 0);
    cr_expect_eq(placecase_use(c, 1, 0).jobs, 1, "after %s", words);
}

static void expect_bad_job(struct placecase *c, struct place_job job, const char *words) {
    const struct place_where where = {1, 1};
    expect_wrong(c, (struct place_event){.kind = PLACE_JOB, .job = &job}, words);
    expect_wrong(c, (struct place_event){.kind = PLACE_RUNS, .job = &job, .where = &where}, words);
}

Test(place_step, jobs_that_cannot_be) {
    struct placecase c = start(NULL);
    placecase_node(&c, 1, 2, 16);
    placecase_come(&c, placecase_job(7, 0.5, 1));
    struct place_job job = placecase_job(7, 0.5, 1);
    expect_bad_job(&c, job, "the job exists already");
    job.id = 8;
    job.tasks = 0;
    expect_bad_job(&c, job, "have at least one task");
    job.tasks = 1;
    job.gpus = 0;
    expect_bad_job(&c, job, "a task at least one GPU");
    job.gpus = 65;
    expect_bad_job(&c, job, "than any node");
    job.gpus = 64;
    job.tasks = 1025;
    expect_bad_job(&c, job, "65536");
    job.tasks = UINT32_MAX;
    expect_bad_job(&c, job, "65536");
    for (uint32_t i = 0; i < 5; i++)
        expect_bad_job(&c, placecase_job(8, (double[]){0, -0.5, 1.0001, NAN, INFINITY}[i], 1),
                       "utilisation");
    expect_bad_job(&c, placecase_job(8, 0.5, 70000), "64 TiB");
    expect_bad_job(&c, placecase_service(8, 0.5, 1, -0.1), "slack");
    expect_bad_job(&c, placecase_service(8, 0.5, 1, NAN), "slack");
    job = placecase_job(8, 0.5, 1);
    job.kind = (enum place_kind)2;
    expect_bad_job(&c, job, "the job's kind is unknown");
    placecase_finish(&c);
}

static void expect_bad_runs(struct placecase *c, uint32_t tasks, uint32_t gpus,
                            const struct place_where *where, const char *words) {
    struct place_job job = placecase_job(8, 0.5, 1);
    job.tasks = tasks;
    job.gpus = gpus;
    expect_wrong(c, (struct place_event){.kind = PLACE_RUNS, .job = &job, .where = where}, words);
}

Test(place_step, nobody_runs_where_it_cannot) {
    const struct place_where twice[] = {{1, 1}, {1, 1}}, apart[] = {{1, 1}, {2, 0}};
    struct placecase c = start(NULL);
    placecase_node(&c, 1, 2, 16);
    placecase_node(&c, 2, 2, 16);
    placecase_come(&c, placecase_job(7, 0.5, 1));
    expect_bad_runs(&c, 1, 1, NULL, "no data about the GPUs");
    expect_bad_runs(&c, 1, 1, &(struct place_where){3, 0}, "node is unknown");
    expect_bad_runs(&c, 1, 1, &(struct place_where){1, 2}, "GPU is unknown");
    expect_bad_runs(&c, 2, 1, twice, "is given to the job twice");
    expect_bad_runs(&c, 1, 2, apart, "on one node");
    struct place_job job = placecase_job(8, 0.5, 1);
    job.tasks = 2;
    placecase_tell(&c, (struct place_event){.kind = PLACE_RUNS, .job = &job, .where = apart});
    cr_expect_eq(placecase_use(&c, 1, 1).jobs, 1);
    cr_expect_eq(placecase_use(&c, 2, 0).jobs, 1);
    placecase_finish(&c);
}

static void expect_bad_node(struct placecase *c, struct place_node node, const char *words) {
    expect_wrong(c, (struct place_event){.kind = PLACE_NODE, .node = &node}, words);
}

Test(place_step, nodes_that_cannot_be) {
    const struct place_gpu good = {PLACECASE_GIB, 0}, curve = {PLACECASE_GIB, 1}, none = {0, 0},
                           huge = {UINT64_MAX, 0};
    struct placecase c = start(NULL);
    placecase_node(&c, 1, 2, 16);
    placecase_come(&c, placecase_job(7, 0.5, 1));
    expect_bad_node(&c, (struct place_node){1, 1, 1, 0, 1, &good}, "the node exists already");
    expect_bad_node(&c, (struct place_node){2, 1, 1, 0, 0, &good}, "1 to 64");
    expect_bad_node(&c, (struct place_node){2, 1, 1, 0, 65, &good}, "1 to 64");
    expect_bad_node(&c, (struct place_node){2, 1, 1, 0, 1, NULL}, "1 to 64");
    expect_bad_node(&c, (struct place_node){2, 1, 1, 0, 1, &curve}, "curve is unknown");
    expect_bad_node(&c, (struct place_node){2, 1, 1, 0, 1, &none},
                    "memory of a GPU must be above 0");
    expect_bad_node(&c, (struct place_node){2, 1, 1, 0, 1, &huge}, "64 TiB");
    expect_bad_node(&c, (struct place_node){2, 1, UINT64_MAX, 0, 1, &good}, "64 TiB");
    placecase_finish(&c);
}

Test(place_step, events_about_nobody) {
    struct placecase c = start(NULL);
    placecase_node(&c, 1, 2, 16);
    placecase_come(&c, placecase_job(7, 0.5, 1));
    for (int kind = PLACE_GONE; kind <= PLACE_MEASURED; kind++)
        expect_wrong(&c, (struct place_event){.kind = (enum place_event_kind)kind, .id = 8},
                     "job is unknown");
    for (int kind = PLACE_NODE_GONE; kind <= PLACE_NODE_OPEN; kind++)
        expect_wrong(&c, (struct place_event){.kind = (enum place_event_kind)kind, .id = 8},
                     "node is unknown");
    expect_wrong(&c, (struct place_event){.kind = PLACE_NODE}, "no data about the node");
    expect_wrong(&c, (struct place_event){.kind = PLACE_JOB}, "no data about the job");
    expect_wrong(&c, (struct place_event){.kind = PLACE_RUNS}, "no data about the job");
    expect_wrong(&c, (struct place_event){.kind = PLACE_EVENTS}, "kind is unknown");
    expect_wrong(&c, (struct place_event){.kind = PLACE_MEASURED, .id = 7, .util = 1.5}, "util");
    expect_wrong(&c, (struct place_event){.kind = PLACE_MEASURED, .id = 7, .util = NAN}, "util");
    expect_wrong(&c, (struct place_event){.kind = PLACE_MEASURED, .id = 7, .speed = -1}, "speed");
    expect_wrong(
        &c, (struct place_event){.kind = PLACE_MEASURED, .id = 7, .persistent_bytes = UINT64_MAX},
        "64 TiB");
    placecase_finish(&c);
}

Test(place_step, who_waits_cannot_fail) {
    struct placecase c = start("fifo");
    placecase_node(&c, 1, 1, 16);
    placecase_come(&c, placecase_job(1, 0.5, 1));
    placecase_come(&c, placecase_job(2, 0.5, 1));
    expect_wrong(&c, (struct place_event){.kind = PLACE_FAILED, .id = 2}, "does not run");
    expect_wrong(&c, (struct place_event){.kind = PLACE_MEMORY, .id = 2}, "does not run");
    placecase_finish(&c);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

Test(place_step, a_task_is_on_one_node_and_all_start_together) {
    struct placecase c = start("horus");
    struct place_job job = placecase_job(9, 0.5, 9);
    job.tasks = 2;
    job.gpus = 2;
    placecase_node(&c, 1, 2, 16);
    placecase_node(&c, 2, 3, 16);
    placecase_come(&c, placecase_job(1, 0.5, 9)); /* on 1:0, so that node 1 has one GPU left */
    placecase_come(&c, job);
    cr_expect_eq(placecase_on(&c, 9), -1, "one task alone does not start");
    for (uint32_t g = 0; g < 3; g++)
        cr_expect_eq(placecase_use(&c, 2, g).jobs, 0);
    placecase_go(&c, 1);
    const struct place_action *a = placecase_said(&c, 9);
    cr_assert(a && a->kind == PLACE_START && a->count == 4);
    for (uint32_t i = 0; i < 4; i++) {
        cr_expect_eq(a->where[i].node, i < 2 ? 1 : 2);
        cr_expect_eq(a->where[i].gpu, i % 2);
    }
    placecase_finish(&c);
}

/* CPUs and memory are counted per task and per node. */
Test(place_step, a_node_has_cpu_for_so_many_tasks) {
    struct placecase c = start("horus");
    struct place_job job = placecase_job(1, 0.1, 1);
    job.tasks = 4;
    job.cpu_milli = 3000;
    job.memory_bytes = 4 * PLACECASE_GIB;
    placecase_node_of(&c, (struct place_node){1, 10000, 64 * PLACECASE_GIB, 0, 8, NULL}, 16);
    placecase_node_of(&c, (struct place_node){2, 64000, 11 * PLACECASE_GIB, 0, 8, NULL}, 16);
    placecase_come(&c, job);
    const struct place_action *a = placecase_said(&c, 1);
    cr_assert(a && a->count == 4);
    cr_expect_eq(a->where[2].node, 1, "three of 3 CPUs");
    cr_expect_eq(a->where[3].node, 2);
    job.id = 2;
    job.tasks = 1;
    placecase_come(&c, job);
    cr_expect_eq(placecase_on(&c, 2), 201);
    job.id = 3;
    placecase_come(&c, job);
    cr_expect_eq(placecase_on(&c, 3), -1, "memory is short on 2, CPU on 1");
    placecase_go(&c, 2);
    cr_expect_eq(placecase_on(&c, 3), 201);
    placecase_finish(&c);
}

Test(place_step, labels_hold) {
    struct placecase c = start("horus");
    struct place_job job = placecase_job(1, 0.1, 1);
    placecase_node(&c, 1, 1, 16);
    placecase_node_of(&c, (struct place_node){2, 0, 0, 6, 1, NULL}, 16);
    job.labels = 12;
    placecase_come(&c, job);
    cr_expect_eq(placecase_on(&c, 1), 200);
    placecase_finish(&c);
}

Test(place_step, alone_is_alone) {
    struct placecase c = start("horus");
    struct place_job job = placecase_job(1, 0.1, 1);
    job.alone = true;
    placecase_node(&c, 1, 1, 16);
    placecase_come(&c, job);
    placecase_come(&c, placecase_job(2, 0.1, 1));
    cr_expect_eq(placecase_on(&c, 2), -1);
    placecase_go(&c, 1);
    cr_expect_eq(placecase_on(&c, 2), 100);
    job.id = 3;
    placecase_come(&c, job);
    cr_expect_eq(placecase_on(&c, 3), -1);
    placecase_finish(&c);
}

Test(place_step, no_more_on_a_gpu_than_was_said) {
    struct placecase c;
    placecase_init(&c, &(struct place_config){.jobs_most = 2, .util_most = 1.2});
    placecase_node(&c, 1, 1, 64);
    placecase_come(&c, placecase_job(1, 0.7, 1));
    placecase_come(&c, placecase_job(2, 0.6, 1));
    cr_expect_eq(placecase_on(&c, 2), -1, "1.3 of a GPU");
    placecase_come(&c, placecase_job(3, 0.5, 1));
    cr_expect_eq(placecase_on(&c, 3), 100);
    placecase_come(&c, placecase_job(4, 0.001, 1));
    cr_expect_eq(placecase_on(&c, 4), -1, "the third");
    placecase_finish(&c);
}

static void expect_refused(struct placecase *c, struct place_job job, const char *words) {
    placecase_come(c, job);
    const struct place_action *a = placecase_said(c, job.id);
    cr_assert(a && a->kind == PLACE_REFUSE, "%s", words);
    cr_expect(strstr(a->why, words), "'%s' is not in '%s'", words, a->why);
    cr_expect(placecase_try(c, (struct place_event){.kind = PLACE_MEASURED, .id = job.id}));
    placecase_go(c, job.id);
}

Test(place_step, what_can_never_run_is_refused) {
    struct placecase c = start("horus");
    struct place_job job = placecase_job(1, 0.5, 99);
    placecase_come(&c, job);
    cr_expect_eq(c.answer.action_count, 0, "nothing is known of any node");
    placecase_node_of(&c, (struct place_node){1, 4000, PLACECASE_GIB, 2, 2, NULL}, 16);
    cr_assert_eq(c.answer.action_count, 1);
    cr_expect_eq(c.answer.actions[0].kind, PLACE_REFUSE);
    placecase_go(&c, 1);
    expect_refused(&c, placecase_job(2, 0.5, 17), "as much memory as it needs");
    job = placecase_job(3, 0.5, 1);
    job.labels = 1;
    expect_refused(&c, job, "a label that the job asks for");
    job.labels = 0;
    job.gpus = 3;
    expect_refused(&c, job, "as many such GPUs");
    job.gpus = 2;
    job.cpu_milli = 4001;
    expect_refused(&c, job, "CPU");
    job.cpu_milli = 4000;
    job.tasks = 2;
    expect_refused(&c, job, "enough nodes");
    placecase_node_of(&c, (struct place_node){2, 4000, PLACECASE_GIB, 2, 2, NULL}, 16);
    placecase_at(&c, PLACE_NODE_GONE, 2);
    placecase_come(&c, job);
    cr_expect_eq(c.answer.action_count, 0, "there were enough once");
    placecase_finish(&c);
}

/* ---- failures -------------------------------------------------------------------------------- */

Test(place_step, a_job_that_fails_keeps_its_turn) {
    struct placecase c = start("fifo");
    placecase_node(&c, 1, 1, 16);
    for (uint64_t id = 1; id <= 3; id++)
        placecase_come(&c, placecase_job(id, 0.5, 1));
    placecase_at(&c, PLACE_FAILED, 1);
    cr_expect_eq(placecase_on(&c, 1), 100);
    cr_expect_eq(c.answer.action_count, 1);
    placecase_finish(&c);
}

/* 1.5 times its 4 GiB is less than the 9 GiB that the other job had left it. */
Test(place_step, a_job_that_wanted_memory_gets_more_than_it_had) {
    struct placecase c = start("obp");
    placecase_node(&c, 1, 1, 16);
    placecase_come(&c, placecase_job(1, 0.5, 7));
    placecase_come(&c, placecase_job(2, 0.5, 4));
    placecase_node(&c, 2, 1, 16);
    placecase_at(&c, PLACE_MEMORY, 2);
    cr_expect_eq(placecase_on(&c, 2), 200);
    cr_expect_eq(placecase_use(&c, 2, 0).memory_bytes, 9 * PLACECASE_GIB);
    placecase_at(&c, PLACE_MEMORY, 2);
    cr_expect_eq(placecase_use(&c, 2, 0).memory_bytes, 16 * PLACECASE_GIB, "all there was");
    placecase_at(&c, PLACE_MEMORY, 2);
    cr_assert_eq(c.answer.action_count, 1);
    cr_expect_eq(c.answer.actions[0].kind, PLACE_REFUSE);
    placecase_finish(&c);
}

Test(place_step, memory_grows_by_what_was_said) {
    struct placecase c;
    placecase_init(&c, &(struct place_config){.more = 3, .memory = PLACE_MEMORY_LANES});
    placecase_node(&c, 1, 1, 20);
    placecase_node(&c, 2, 1, 60);
    struct place_job job = placecase_job(2, 0.5, 10);
    job.ephemeral_bytes = PLACECASE_GIB;
    placecase_come(&c, job); /* 11 of 60 s, in which the job has the whole GPU */
    placecase_at(&c, PLACE_MEMORY, 2);
    cr_expect_eq(placecase_use(&c, 2, 0).memory_bytes, 60 * PLACECASE_GIB);
    placecase_finish(&c);
    placecase_init(&c, &(struct place_config){.more = 3});
    placecase_node(&c, 1, 1, 60);
    placecase_come(&c, placecase_job(1, 0.5, 55));
    placecase_come(&c, placecase_job(2, 0.5, 5));
    placecase_at(&c, PLACE_MEMORY, 2);
    placecase_go(&c, 1);
    cr_expect_eq(placecase_use(&c, 1, 0).memory_bytes, 15 * PLACECASE_GIB);
    placecase_finish(&c);
}

/* Jobs of a node that disappeared are queued before the waiting jobs, in their own order. */
Test(place_step, a_node_goes_away) {
    struct placecase c = start("fifo");
    placecase_node(&c, 1, 1, 16);
    placecase_node(&c, 2, 2, 16);
    for (uint64_t id = 1; id <= 5; id++)
        placecase_come(&c,
                       /* job 1 is on 1:0, 2 and 3 on node 2, the others wait */
                       placecase_job(id, 0.5, 1));
    struct place_event events[] = {{.kind = PLACE_NODE_GONE, .id = 2},
                                   {.kind = PLACE_GONE, .id = 1}};
    placecase_tell_all(&c, events, 2);
    cr_expect_eq(placecase_on(&c, 2), 100);
    cr_expect_eq(c.answer.action_count, 1);
    placecase_go(&c, 2);
    cr_expect_eq(placecase_on(&c, 3), 100);
    placecase_go(&c, 3);
    cr_expect_eq(placecase_on(&c, 4), 100);
    placecase_node(&c, 2, 1, 16);
    cr_expect_eq(placecase_on(&c, 5), 200, "the same name, another node");
    placecase_finish(&c);
}

/* The job that lost its node comes before an older job that waits. */
Test(place_step, who_lost_its_node_goes_first) {
    struct placecase c = start("obp");
    placecase_node(&c, 1, 1, 24);
    placecase_node(&c, 2, 1, 16);
    placecase_come(&c, placecase_job(1, 0.5, 12));
    placecase_come(&c, placecase_job(2, 0.5, 4));
    placecase_come(&c, placecase_job(3, 0.5, 13)); /* waits */
    placecase_come(&c, placecase_job(4, 0.5, 10)); /* next to job 2 */
    cr_expect_eq(placecase_on(&c, 4), 200);
    placecase_at(&c, PLACE_NODE_GONE, 2);
    placecase_go(&c, 1);
    cr_assert_eq(c.answer.action_count, 1);
    cr_expect_eq(placecase_on(&c, 4), 100, "2 is there already");
    placecase_finish(&c);
}

/* More nodes than are searched one by one; the last one has what the job wants. */
Test(place_step, many_are_freed_at_once) {
    struct placecase c = start("horus");
    struct place_event events[30];
    for (uint64_t id = 1; id <= 30; id++) {
        placecase_node(&c, id, 1, 16 + (id == 30));
        placecase_come(&c, placecase_job(id, 0.5, 16));
        events[id - 1] = (struct place_event){.kind = PLACE_GONE, .id = id};
    }
    placecase_come(&c, placecase_job(99, 0.5, 17));
    cr_expect_eq(placecase_on(&c, 99), -1);
    placecase_tell_all(&c, events, 30);
    cr_expect_eq(placecase_on(&c, 99), 3000);
    placecase_finish(&c);
}

/* A job on two nodes, one of which disappears, runs on neither. */
Test(place_step, half_of_a_job_is_none) {
    struct placecase c = start("horus");
    struct place_job job = placecase_job(1, 0.5, 9);
    job.tasks = 2;
    placecase_node(&c, 1, 1, 16);
    placecase_node(&c, 2, 1, 16);
    placecase_come(&c, job);
    placecase_at(&c, PLACE_NODE_GONE, 2);
    cr_expect_eq(c.answer.action_count, 0);
    cr_expect_eq(placecase_use(&c, 1, 0).jobs, 0);
    placecase_node(&c, 3, 1, 16);
    cr_expect_eq(placecase_on(&c, 1), 100);
    placecase_finish(&c);
}

Test(place_step, a_node_that_is_shut_gets_nobody) {
    struct placecase c = start("horus");
    placecase_node(&c, 1, 2, 16);
    placecase_come(&c, placecase_job(1, 0.5, 1));
    placecase_at(&c, PLACE_NODE_SHUT, 1);
    placecase_at(&c, PLACE_NODE_SHUT, 1);
    cr_expect_eq(placecase_use(&c, 1, 0).jobs, 1, "what runs goes on");
    placecase_come(&c, placecase_job(2, 0.5, 1));
    placecase_come(&c, placecase_job(3, 0.5, 1));
    cr_expect_eq(c.answer.action_count, 0);
    placecase_go(&c, 3);
    placecase_go(&c, 1);
    cr_expect_eq(c.answer.action_count, 0, "what becomes free there neither");
    placecase_at(&c, PLACE_NODE_OPEN, 1);
    cr_expect_eq(placecase_on(&c, 2), 100);
    placecase_finish(&c);
}

Test(place_step, what_is_measured_counts) {
    struct placecase c = start("horus");
    placecase_node(&c, 1, 1, 16);
    placecase_come(&c, placecase_job(1, 0.5, 10));
    placecase_come(&c, placecase_job(2, 0.5, 10));
    cr_expect_eq(placecase_on(&c, 2), -1);
    placecase_tell(&c, (struct place_event){
                           .kind = PLACE_MEASURED, .id = 1, .persistent_bytes = 6 * PLACECASE_GIB});
    cr_expect_eq(placecase_on(&c, 2), 100);
    cr_expect_eq(placecase_use(&c, 1, 0).util, 1, "nothing was said of it");
    placecase_tell(&c, (struct place_event){.kind = PLACE_MEASURED, .id = 1, .util = 0.25});
    cr_expect_eq(placecase_use(&c, 1, 0).util, 0.75);
    cr_expect_eq(placecase_use(&c, 1, 0).memory_bytes, 16 * PLACECASE_GIB);
    placecase_come(&c, placecase_job(3, 0.5, 5));
    placecase_tell(&c, (struct place_event){
                           .kind = PLACE_MEASURED, .id = 1, .persistent_bytes = 8 * PLACECASE_GIB});
    cr_expect_eq(placecase_use(&c, 1, 0).memory_bytes, 18 * PLACECASE_GIB, "nobody has to go");
    placecase_go(&c, 2);
    cr_expect_eq(placecase_on(&c, 3), 100);
    placecase_finish(&c);
}

/* A waiting job is measured to need less than predicted; the difference is free. */
Test(place_step, who_waits_is_measured_too) {
    struct placecase c = start("horus");
    placecase_node(&c, 1, 1, 16);
    placecase_come(&c, placecase_job(1, 0.5, 10));
    placecase_come(&c, placecase_job(2, 0.5, 10));
    placecase_tell(&c, (struct place_event){
                           .kind = PLACE_MEASURED, .id = 2, .persistent_bytes = 6 * PLACECASE_GIB});
    cr_expect_eq(placecase_on(&c, 2), 100);
    placecase_finish(&c);
}

Test(place_step, time_does_not_go_back) {
    struct placecase c = start("horus_f");
    c.now_ns = 100 * PLACECASE_S;
    placecase_node(&c, 1, 1, 16);
    c.now_ns = INT64_MIN;
    placecase_come(&c, placecase_job(1, 0.5, 10));
    cr_expect_eq(placecase_on(&c, 1), 100);
    cr_expect_eq(c.answer.wake_ns, INT64_MAX);
    placecase_finish(&c);
}
