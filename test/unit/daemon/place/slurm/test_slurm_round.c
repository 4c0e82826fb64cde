/* SPDX-License-Identifier: Apache-2.0
 *
 * One round of the placer: from clusters defined here to the commands for Slurm.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/place/slurm/placer/eligible.h"
#include "daemon/place/slurm/placer/round.h"

#define NOW 1000000
#define NODES 3
#define NODES_MOST 7 /* nodes of the one test that has more than a few */
#define GIB (1ull << 30)

static struct world_node nodes[NODES_MOST];
static struct world_job jobs[200];
static bool all[] = {true, true, true, true, true, true, true}, first[NODES_MOST] = {true};
static struct world_partition partitions[] = {{"all", true, all}, {"first", true, first}};
static struct world w = {.nodes = nodes,
                         .node_count = NODES,
                         .partitions = partitions,
                         .partition_count = 2,
                         .jobs = jobs};
static struct cluster_report_config config;
static struct round_answer answer;
static char why[200];
static int64_t now;

static void set_up(void) {
    static const char *const names[] = {"n1", "n2", "n3", "n4", "n5", "n6", "n7"};

    config = (struct cluster_report_config){
        .util = 0.5, .mem_bytes = GIB / 8, .slack = 0.1, .patience_s = 60};
    w.job_count = 0;
    w.node_count = NODES;
    now = NOW;
    for (int i = 0; i < NODES_MOST; i++)
        nodes[i] = (struct world_node){.name = names[i],
                                       .usable = true,
                                       .reported = true,
                                       .features = i == 1 ? "fast,new" : "old",
                                       .cpus = 8,
                                       .cpus_configured = 8,
                                       .memory_bytes = 8 * GIB,
                                       .shares = 4,
                                       .report = {.gpu_count = 1, .gpus = {{GIB, true}}}};
}

static void tear_down(void) {
    round_finish(&answer);
}

TestSuite(slurm_round, .init = set_up, .fini = tear_down);

static struct world_job *job(enum world_state state, uint32_t util) {
    struct world_job *j = &jobs[w.job_count];

    *j = (struct world_job){.id = 100 + (uint32_t)w.job_count++,
                            .task = WORLD_NO_TASK,
                            .state = state,
                            .note = {.ask = {.util_milli = util}, .gpu = NOTE_ANY_GPU},
                            .cpus = 1,
                            .since = NOW - 100,
                            .begins = NOW + 1000,
                            .partition = "all",
                            .node = WORLD_ELSEWHERE,
                            .shares = 1};
    return j;
}

static struct world_job *placed(uint32_t util, const char *node, int64_t age_s) {
    struct world_job *j = job(WORLD_PLACED, util);

    strcpy(j->note.node, node);
    j->note.gpu = 0;
    j->note.at = NOW - age_s;
    return j;
}

/* The placer's plan as "place 100 n2/0, ...", with "7_3" for a task of an array. */
static const char *plan(void) {
    static const char *const kinds[] = {"place", "withdraw", "put off", "refused", "free"};
    static char text[4000];
    size_t n = 0;

    round_finish(&answer);
    cr_assert_eq(round_plan(&w, &config, now, &answer, why, sizeof(why)), 0, "%s", why);
    text[0] = '\0';
    for (size_t i = 0; i < answer.count; i++) {
        const struct round_action *a = &answer.actions[i];
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s %u", i ? ", " : "", kinds[a->kind],
                              jobs[a->job].id);
        if (jobs[a->job].task != WORLD_NO_TASK)
            n += (size_t)snprintf(text + n, sizeof(text) - n, "_%u", jobs[a->job].task);
        if (a->kind == ROUND_PLACE)
            n +=
                (size_t)snprintf(text + n, sizeof(text) - n, " %s/%u", nodes[a->node].name, a->gpu);
    }
    return text;
}

Test(slurm_round, nothing_is_nothing) {
    cr_expect_str_eq(plan(), "");
}

Test(slurm_round, a_job_goes_where_it_hurts_least) {
    struct world_job *busy = job(WORLD_RUNS, 900);
    busy->node = 0;
    job(WORLD_RUNS, 900)->node = 2;
    job(WORLD_WAITS, 800);
    cr_expect_str_eq(plan(), "place 102 n2/0");
}

Test(slurm_round, the_next_round_counts_what_was_placed) {
    placed(900, "n1", 5);
    placed(900, "n2", 5);
    job(WORLD_WAITS, 800);
    cr_expect_str_eq(plan(), "place 102 n3/0");
}

Test(slurm_round, several_gpus_are_told_apart) {
    nodes[0].report = (struct report){.gpu_count = 2, .gpus = {{GIB, true}, {GIB, true}}};
    nodes[1].usable = nodes[2].usable = false;
    placed(900, "n1", 5);
    job(WORLD_WAITS, 900);
    cr_expect_str_eq(plan(), "place 101 n1/1");
    jobs[0].note.gpu = 1;
    cr_expect_str_eq(plan(), "place 101 n1/0");
}

/* Slurm placed the job there; salusd gave it the GPU that was empty. */
Test(slurm_round, jobs_without_a_gpu_are_taken_to_be_on_the_emptiest) {
    nodes[0].report =
        (struct report){.gpu_count = 3, .gpus = {{GIB, true}, {GIB, true}, {GIB, true}}};
    nodes[1].usable = nodes[2].usable = false;
    strcpy(job(WORLD_RUNS, 900)->note.node, "n1");
    jobs[0].note.gpu = 0;
    jobs[0].node = 0;
    job(WORLD_RUNS, 900)->node = 0;
    job(WORLD_WAITS, 900);
    cr_expect_str_eq(plan(), "place 102 n1/2");
}

Test(slurm_round, nodes_without_a_report_or_in_trouble_get_nothing) {
    nodes[0].reported = false;
    nodes[1].usable = false;
    nodes[2].report.gpus[0].ready = false;
    job(WORLD_WAITS, 100);
    cr_expect_str_eq(plan(), "");
    nodes[1].usable = true;
    cr_expect_str_eq(plan(), "place 100 n2/0");
}

Test(slurm_round, shares_bound_it) {
    nodes[0].usable = nodes[1].usable = false;
    nodes[2].shares_used = 2;
    placed(100, "n3", 5);
    job(WORLD_WAITS, 100);
    job(WORLD_WAITS, 100);
    cr_expect_str_eq(plan(), "place 101 n3/0", "one share is left");
    jobs[1].shares = 2;
    cr_expect_str_eq(plan(), "place 102 n3/0", "the first wants two");
    nodes[2].shares_used = 3;
    cr_expect_str_eq(plan(), "", "none is left");
}

/* The node that place.h prefers has one share left, and is preferred every time. */
Test(slurm_round, several_shares_go_where_they_are) {
    nodes[0].shares_used = 3;
    nodes[2].usable = false;
    job(WORLD_RUNS, 900)->node = 1;
    job(WORLD_WAITS, 100)->shares = 2;
    cr_expect_str_eq(plan(), "place 101 n2/0");
    job(WORLD_WAITS, 100);
    cr_expect_str_eq(plan(), "place 101 n2/0, place 102 n1/0", "one is another kind of job");
    placed(100, "n2", 5)->shares = 3;
    cr_expect_str_eq(plan(), "place 102 n1/0", "what was promised is not there");
}

/* The only GPU with enough memory is on a full node: that is no reason to refuse the job. */
Test(slurm_round, what_fits_a_full_node_is_not_refused) {
    nodes[0].shares_used = 4;
    nodes[0].report.gpus[0].memory_bytes = 4 * GIB;
    job(WORLD_WAITS, 100)->shares = 2;
    jobs[0].note.ask.mem_bytes = jobs[0].note.ask.persistent_bytes = 2 * GIB;
    cr_expect_str_eq(plan(), "");
    nodes[0].shares_used = 2;
    cr_expect_str_eq(plan(), "place 100 n1/0");
}

Test(slurm_round, partitions_exclusions_and_features_narrow) {
    static bool not_first[NODES] = {true};

    job(WORLD_WAITS, 100)->partition = "first";
    cr_expect_str_eq(plan(), "place 100 n1/0");
    jobs[0].partition = "nowhere,all";
    jobs[0].features = "fast";
    cr_expect_str_eq(plan(), "place 100 n2/0");
    jobs[0].features = "old";
    jobs[0].excluded = not_first;
    cr_expect_str_eq(plan(), "place 100 n3/0");
    jobs[0].features = "fast&old";
    cr_expect_str_eq(plan(), "", "no node has both");
    partitions[0].up = false;
    jobs[0].features = NULL;
    cr_expect_str_eq(plan(), "", "a partition that is down");
    partitions[0].up = true;
}

Test(slurm_round, what_is_not_for_us_is_left_alone) {
    job(WORLD_WAITS, 100)->held = true;
    job(WORLD_WAITS, 100)->depends = true;
    job(WORLD_WAITS, 100)->note.begin = NOW + 1;
    job(WORLD_WAITS, 100)->features = "[a*2&b]";
    cr_expect_str_eq(plan(), "");
}

Test(slurm_round, waiting_is_put_off_before_it_ends) {
    job(WORLD_WAITS, 100)->depends = true;
    jobs[0].note.wait_s = 100;
    jobs[0].begins = NOW + 50;
    cr_expect_str_eq(plan(), "");
    jobs[0].begins = NOW + 49;
    cr_expect_str_eq(plan(), "put off 100");
    jobs[0].held = true;
    cr_expect_str_eq(plan(), "put off 100", "who releases it finds it waiting for us");
    jobs[0].held = false;
    jobs[0].note.wait_s = 0;
    cr_expect_str_eq(plan(), "", "it waits for ever");
}

static struct world_job *task(uint32_t number) {
    struct world_job *j = job(WORLD_WAITS, 900);

    j->id = 7;
    j->task = number;
    return j;
}

Test(slurm_round, tasks_of_an_array_are_jobs_of_their_own) {
    for (uint32_t i = 0; i < 3; i++)
        task(i);
    cr_expect_str_eq(plan(), "place 7_0 n1/0, place 7_1 n2/0, place 7_2 n3/0");
}

Test(slurm_round, an_array_is_put_off_once) {
    nodes[0].usable = nodes[1].usable = nodes[2].usable = false;
    for (uint32_t i = 0; i < 4; i++) {
        struct world_job *j = i < 3 ? task(i) : job(WORLD_WAITS, 100);
        j->note.wait_s = 100;
        j->begins = NOW + 49;
    }
    cr_expect_str_eq(plan(), "put off 7_0, put off 103");
    nodes[0].usable = true;
    nodes[0].shares = 1;
    cr_expect_str_eq(plan(), "place 7_0 n1/0, put off 7_1, put off 103", "what is left of it");
}

/* A job of several nodes is on all of them. */
Test(slurm_round, a_job_of_several_nodes_is_on_each) {
    for (uint32_t i = 0; i < 2; i++) {
        struct world_job *j = job(WORLD_RUNS, 900);
        j->id = 7;
        j->node = i;
    }
    job(WORLD_WAITS, 800);
    cr_expect_str_eq(plan(), "place 102 n3/0");
}

/* Algorithm 1 with two queues and two jobs a round, as in test_place_queues: six small jobs,
 * three of which have waited for 100 s, and three large ones. */
Test(slurm_round, who_waits_longer_goes_first) {
    config.place = (struct place_config){.policy = "horus_f", .queues = 2, .batch = 2};
    nodes[0].report = (struct report){.gpu_count = 4};
    for (int g = 0; g < 4; g++)
        nodes[0].report.gpus[g] = (struct report_gpu){GIB, true};
    nodes[1].usable = nodes[2].usable = false;
    for (int i = 0; i < 9; i++) {
        struct world_job *j = job(WORLD_WAITS, i >= 3 && i < 6 ? 1000 : 100);
        j->note.ask.mem_bytes = j->note.ask.persistent_bytes = GIB / 16 * 9;
        j->since = i < 3 ? NOW - 100 : NOW;
    }
    cr_expect_str_eq(plan(), "place 100 n1/0, place 101 n1/1, place 102 n1/2, place 103 n1/3");
    for (int i = 0; i < 9; i++)
        jobs[i].since = NOW;
    cr_expect_str_eq(plan(), "place 100 n1/0, place 103 n1/1, place 101 n1/2, place 104 n1/3",
                     "where all have just come");
}

Test(slurm_round, what_does_not_begin_goes_elsewhere) {
    placed(100, "n1", 59);
    cr_expect_str_eq(plan(), "", "patience");
    jobs[0].note.at = NOW - 60;
    strcpy(jobs[0].note.tried, "n2");
    cr_expect_str_eq(plan(), "place 100 n3/0");
    strcpy(jobs[0].note.tried, "n2,n3");
    cr_expect_str_eq(plan(), "place 100 n1/0", "all were tried: any");
}

Test(slurm_round, what_did_not_begin_is_no_other_jobs_affair) {
    placed(100, "n1", 60);
    job(WORLD_WAITS, 100);
    nodes[1].usable = nodes[2].usable = false;
    cr_expect_str_eq(plan(), "place 101 n1/0, withdraw 100");
}

/* Otherwise the job would be chosen again and again, and later jobs never. */
Test(slurm_round, what_did_not_begin_goes_behind_what_waits) {
    placed(100, "n1", 60);
    job(WORLD_WAITS, 100);
    nodes[0].usable = nodes[2].usable = false;
    nodes[1].shares = 1;
    cr_expect_str_eq(plan(), "place 101 n2/0, withdraw 100");
}

Test(slurm_round, what_waits_for_a_limit_of_slurms_takes_nothing_and_stays) {
    placed(100, "n1", 600)->limited = true;
    jobs[0].note.ask.mem_bytes = jobs[0].note.ask.persistent_bytes = GIB;
    job(WORLD_WAITS, 100);
    nodes[1].usable = nodes[2].usable = false;
    nodes[0].shares = 1;
    cr_expect_str_eq(plan(), "place 101 n1/0");
    nodes[0].shares = 0;
    cr_expect_str_eq(plan(), "", "there is no share");
    nodes[0].usable = false;
    cr_expect_str_eq(plan(), "withdraw 100", "its node is gone");
    nodes[0].usable = true;
    jobs[0].held = true;
    cr_expect_str_eq(plan(), "withdraw 100", "it is held");
}

Test(slurm_round, a_node_that_goes_gives_its_jobs_back) {
    placed(100, "n1", 5);
    nodes[0].usable = false;
    cr_expect_str_eq(plan(), "place 100 n2/0");
    nodes[1].usable = nodes[2].usable = false;
    cr_expect_str_eq(plan(), "withdraw 100");
    strcpy(jobs[0].note.node, "gone");
    cr_expect_str_eq(plan(), "withdraw 100", "a node that there is no more");
}

Test(slurm_round, a_placed_job_that_is_held_gives_its_place_back) {
    placed(100, "n1", 5)->held = true;
    cr_expect_str_eq(plan(), "withdraw 100");
}

Test(slurm_round, what_fits_nowhere_is_said_and_waits) {
    job(WORLD_WAITS, 100);
    jobs[0].note.ask.mem_bytes = jobs[0].note.ask.persistent_bytes = 2 * GIB;
    job(WORLD_WAITS, 100);
    cr_expect_str_eq(plan(), "place 101 n1/0, refused 100");
}

Test(slurm_round, memory_adds_up_or_is_shared_in_turns) {
    for (int i = 0; i < 3; i++) {
        struct world_job *j = i < 2 ? placed(100, "n1", 5) : job(WORLD_WAITS, 100);
        j->note.ask.mem_bytes = GIB / 2;
        j->note.ask.persistent_bytes = GIB / 16;
    }
    nodes[1].usable = nodes[2].usable = false;
    cr_expect_str_eq(plan(), "");
    config.place.memory = PLACE_MEMORY_LANES;
    cr_expect_str_eq(plan(), "place 102 n1/0");
}

/* The job requested 10 % of the GPU and uses all; it requested no memory. */
Test(slurm_round, what_is_measured_counts) {
    nodes[2].usable = false;
    job(WORLD_RUNS, 100)->node = 0;
    job(WORLD_RUNS, 200)->node = 1;
    job(WORLD_WAITS, 900);
    cr_expect_str_eq(plan(), "place 102 n1/0");
    nodes[0].report.jobs[0] = (struct report_job){100, 0, 1000, 0, 0};
    nodes[0].report.job_count = 1;
    cr_expect_str_eq(plan(), "place 102 n2/0");
    jobs[0].uid = 1;
    cr_expect_str_eq(plan(), "place 102 n1/0", "it is another user's who calls himself so");
    jobs[0].uid = 0;
    nodes[1].report.jobs[0] = (struct report_job){101, 0, 0, GIB - 1, 0};
    nodes[1].report.job_count = 1;
    cr_expect_str_eq(plan(), "place 102 n1/0", "there is no memory");
    jobs[1].note.ask.mem_bytes = jobs[1].note.ask.persistent_bytes = GIB / 8;
    cr_expect_str_eq(plan(), "place 102 n2/0", "what it says that it needs it may use");
}

Test(slurm_round, cpus_are_counted) {
    nodes[1].usable = nodes[2].usable = false;
    nodes[0].cpus = 3;
    placed(100, "n1", 5)->cpus = 2;
    job(WORLD_WAITS, 100)->cpus = 2;
    cr_expect_str_eq(plan(), "");
    nodes[0].cpus = 4;
    cr_expect_str_eq(plan(), "place 101 n1/0");
}

/* As with `sbatch -n 8` where nodes have fewer CPUs: Slurm needs several nodes, which the placer
 * does not handle. */
Test(slurm_round, what_no_node_has_the_cpus_for_is_slurms) {
    static bool not_big[NODES] = {true, true};

    nodes[2].cpus_configured = 16;
    job(WORLD_WAITS, 100)->cpus = 9;
    jobs[0].excluded = not_big;
    nodes[2].cpus = 8;
    cr_expect_str_eq(plan(), "refused 100", "others have its CPUs now");
    jobs[0].excluded = NULL;
    jobs[0].partition = "first";
    cr_expect_str_eq(plan(), "free 100");
    strcpy(jobs[0].note.tried, "n3");
    jobs[0].partition = "all";
    cr_expect_str_eq(plan(), "refused 100", "a node has them, and was tried");
    jobs[0].note.tried[0] = '\0';
    jobs[0].partition = "first";
    jobs[0].one_node = true;
    cr_expect_str_eq(plan(), "refused 100", "it wants one node");
    jobs[0].one_node = false;
    jobs[0].held = true;
    cr_expect_str_eq(plan(), "", "it is held");
    jobs[0].held = false;
    jobs[0].features = "never";
    cr_expect_str_eq(plan(), "", "there is no node at all");
    w.job_count = 0;
    for (uint32_t i = 0; i < 3; i++) {
        task(i)->cpus = 9;
        jobs[i].partition = "first";
    }
    cr_expect_str_eq(plan(), "free 7_0", "an array once for all its tasks");
}

/* More classes than bits: jobs of classes without a bit wait for a later round. */
Test(slurm_round, many_kinds_of_jobs_are_no_trouble) {
    static char tried[200][8];
    static bool excluded[200][NODES];

    for (int i = 0; i < 8; i++) {
        for (int k = 0; k < NODES; k++)
            excluded[i][k] = i >> k & 1;
        job(WORLD_WAITS, 100)->excluded = excluded[i];
    }
    snprintf(tried[0], sizeof(tried[0]), "n1");
    plan();
    cr_expect_eq(answer.count, 7, "all but the one that excludes all nodes");
}

/* More classes than bits, of jobs that stay: each class gets its turn all the same. */
Test(slurm_round, one_kind_of_many_has_its_turn) {
    static bool excluded[100][NODES_MOST];
    bool was_placed = false;

    w.node_count = NODES_MOST;
    for (int i = 0; i < 70; i++) {
        struct world_job *j = job(WORLD_WAITS, 100);
        for (int k = 0; k < NODES_MOST; k++)
            excluded[i][k] = (i + 1) >> k & 1;
        j->excluded = excluded[i];
        j->note.ask.mem_bytes = j->note.ask.persistent_bytes = 2 * GIB;
    }
    job(WORLD_WAITS, 100);
    for (now = NOW; now < NOW + 60 && !was_placed; now += 2)
        was_placed = strstr(plan(), "place 170 ") != NULL;
    cr_expect(was_placed);
}

Test(slurm_round, a_policy_that_there_is_not_is_an_error) {
    config.place.policy = "best";
    cr_expect_lt(round_plan(&w, &config, NOW, &answer, why, sizeof(why)), 0);
    cr_expect(strstr(why, "best"));
}

/* ---- features -------------------------------------------------------------------------------- */

Test(slurm_round, features_are_understood_or_left) {
    cr_expect(eligible_understands(NULL));
    cr_expect(eligible_understands("a&b"));
    cr_expect(eligible_understands("a|b"));
    cr_expect(!eligible_understands("a&b|c"));
    cr_expect(!eligible_understands("[a|b]"));
    cr_expect(!eligible_understands("a*2"));
}

Test(slurm_round, one_of_several_features_will_do) {
    job(WORLD_WAITS, 100)->features = "none|fast";
    cr_expect_str_eq(plan(), "place 100 n2/0");
    jobs[0].features = "fast&new";
    cr_expect_str_eq(plan(), "place 100 n2/0");
    jobs[0].features = "none|never";
    cr_expect_str_eq(plan(), "");
    jobs[0].features = "fas";
    cr_expect_str_eq(plan(), "", "features are whole words");
}
