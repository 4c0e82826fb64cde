/* SPDX-License-Identifier: Apache-2.0
 *
 * `salus-sim cluster`: its options, the placement policies in the simulated world, and its output.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/sim/compare/clusters_text.h"
#include "daemon/sim/verbs/clusteropt.h"

#define WORDS 64
#define TEXT_BYTES 600

/* Splits the text at blanks into argv. */
static bool take(struct clusteropt *o, char *text, const char *command, char **said) {
    char *argv[WORDS] = {"cluster"}, *rest = text;
    size_t bytes;
    int count = 1;
    strcpy(text, command);
    for (char *word; (word = strsep(&rest, " ")) && count < WORDS - 1;)
        if (*word) argv[count++] = word;
    FILE *err = open_memstream(said, &bytes);
    clusteropt_init(o);
    bool taken = clusteropt_take(o, argv, err);
    fclose(err);
    return taken;
}

static struct clusteropt options(const char *command) {
    static char text[TEXT_BYTES];
    struct clusteropt o;
    char *said;
    cr_assert(take(&o, text, command, &said), "%s", said);
    free(said);
    return o;
}

static void no_progress(void *arg, uint32_t run, uint32_t of) {
    cr_assert_leq(run, of);
}

static struct clusters run(const struct clusteropt *o) {
    struct clusters c;
    struct buf errors;
    buf_init(&errors);
    cr_assert_eq(clusters_run(&c, &o->config, no_progress, NULL, &errors), 0, "%s",
                 buf_str(&errors));
    buf_finish(&errors);
    return c;
}

/* ---- options --------------------------------------------------------------------------------- */

Test(sim_cluster, options_make_a_cluster) {
    struct clusteropt o = options(
        "--gpus 10 --per-node=5 --gpu-memory 8GiB --draw horus-small --jobs 7 --load 0.5 --slo 1.2 "
        "--policy fifo,horus --seed 3 --seeds 2 --queues 4 --batch 9 --memory lanes "
        "--speeds shares --curve 2,1,0.5 --tangent 1 --error 0.2 --memory-error 0 --measure 0 "
        "--begin 3s --memory-end 1s --keep 1min --hold-error 0 --tolerance 0.1 --cut 2h --json");
    const struct clusters_config *c = &o.config;
    cr_expect(c->gpus == 10 && c->per_node == 5 && c->gpu_bytes == 8ull << 30 && o.json);
    cr_expect(c->draw.jobs == 7 && c->draw.load == 0.5 && c->draw.slo == 1.2);
    cr_expect(c->reading.slo == 1.2 && c->reading.length_most_s == 7200);
    cr_expect(c->seed == 3 && c->seeds == 2 && c->place.queues == 4 && c->place.batch == 9);
    cr_expect(c->policy_count == 2 && strcmp(c->policies[1], "horus") == 0);
    cr_expect(c->place.memory == PLACE_MEMORY_LANES && c->rules.memory == PLACE_MEMORY_LANES);
    cr_expect(c->speeds == CLUSTERS_SHARES && c->rules.tangent_from == 1);
    cr_expect(c->rules.curve.a2 == 2 && c->rules.curve.a0 == 0.5);
    cr_expect(c->error.util == 0.2 && c->error.memory == 0 && c->rules.measure_ns == 0);
    cr_expect(c->rules.begin_ns == 3000000000 && c->rules.keep_ns == 60000000000);
    cr_expect(!c->rules.measure_needs && c->rules.tolerance == 0.1 && c->rules.hold_error == 0);
}

Test(sim_cluster, what_is_no_option_is_said) {
    static const struct {
        const char *command, *sentence;
    } cases[] = {{"--policy fifo,nobody", "--policy: there is no policy 'nobody'"},
                 {"--gpus 0", "--gpus: '0' is not a number in the allowed range"},
                 {"--per-node 65", "--per-node: '65'"},
                 {"--load x", "--load: 'x'"},
                 {"--load nan", "--load: 'nan'"},
                 {"--curve 1,2", "--curve: '1,2' is not three numbers"},
                 {"--curve 1,2,3x", "--curve: '1,2,3x'"},
                 {"--curve nan,0,0", "--curve: 'nan,0,0'"},
                 {"--memory pages", "--memory: 'pages' is not a possible value"},
                 {"--speeds fast", "--speeds: 'fast' is not a possible value"},
                 {"--measure 3", "--measure: '3' is not a time"},
                 {"--gpu-memory 0", "--gpu-memory: '0'"},
                 {"--what 3", "cluster has no option --what"},
                 {"--seed", "--seed: the option is unknown, or its value is missing"},
                 {"a.csv b.csv", "'b.csv': only one file of jobs can be given"},
                 {"a.csv --draw day", "FILE and --draw cannot be combined"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[TEXT_BYTES], *said;
        struct clusteropt o;
        cr_expect_not(take(&o, text, cases[i].command, &said), "%s", cases[i].command);
        cr_expect(strstr(said, cases[i].sentence), "'%s' is not '%s'", said, cases[i].sentence);
        free(said);
    }
}

/* ---- the policies ---------------------------------------------------------------------------- */

static double mean(const struct clusters *c, const struct clusteropt *o, const char *policy,
                   size_t offset) {
    for (uint32_t i = 0; i < o->config.policy_count; i++)
        if (strcmp(o->config.policies[i], policy) == 0)
            return measure_mean(
                (const struct measure *)(const void *)((const char *)&c->cells[i] + offset));
    cr_assert_fail("%s", policy);
    return 0;
}

#define MEAN(c, o, policy, field) mean(&(c), &(o), policy, offsetof(struct clusters_cell, field))

/* A cluster in which half of all jobs would wait without sharing. */
Test(sim_cluster, every_policy_brings_all_jobs_to_their_end) {
    struct clusteropt o = options("--gpus 24 --jobs 600 --load 1.5 --seeds 2 --memory-error 0.3");
    struct clusters c = run(&o);
    cr_expect_eq(o.config.policy_count, 10);
    for (uint32_t i = 0; i < o.config.policy_count; i++) {
        const struct clusters_cell *cell = &c.cells[i];
        const char *policy = o.config.policies[i];
        cr_expect_eq(measure_mean(&cell->refused), 0, "%s: all fit a GPU", policy);
        /* no two nodes are reserved for trainings */
        bool divided = strcmp(policy, "separate") == 0;
        cr_expect(measure_mean(&cell->stranded) == 0 || divided, "%s", policy);
        cr_expect(measure_mean(&cell->makespan) > 86400 * 0.9, "%s", policy);
        cr_expect(measure_mean(&cell->used) <= 24, "%s", policy);
        cr_expect(measure_mean(&cell->util) <= 1, "%s", policy);
        cr_expect(measure_mean(&cell->slowdown) > 0.999, "%s", policy);
    }
    cr_expect_float_eq(MEAN(c, o, "fifo", slowdown), 1, 1e-6, "nobody shares");
    cr_expect_float_eq(MEAN(c, o, "alone", slowdown), 1, 1e-6);
    cr_expect_eq(MEAN(c, o, "fifo", memory_ends), 0);
    cr_expect(MEAN(c, o, "best_fit", memory_ends) > 0);
    cr_expect(MEAN(c, o, "horus", wait) < MEAN(c, o, "fifo", wait) / 2);
    cr_expect(MEAN(c, o, "pab", stops) > 0);
    cr_expect(MEAN(c, o, "gpucolo", used) <= MEAN(c, o, "alone", used));
    clusters_finish(&c);
}

/* A job whose needs are known exactly, and not measured again, fits where it was placed. */
Test(sim_cluster, without_errors_nobody_lacks_memory) {
    for (int lanes = 0; lanes < 2; lanes++) {
        struct clusteropt o =
            options(lanes ? "--gpus 24 --jobs 600 --load 1.5 --memory-error 0 --memory lanes"
                          : "--gpus 24 --jobs 600 --load 1.5 --memory-error 0");
        struct clusters c = run(&o);
        for (uint32_t i = 0; i < o.config.policy_count; i++)
            cr_expect_eq(measure_mean(&c.cells[i].memory_ends), 0, "%s", o.config.policies[i]);
        clusters_finish(&c);
    }
}

/* 0.9 of its length needs more than its request: the placer must know that. */
Test(sim_cluster, slos_below_one_are_held_if_they_are_planned_for) {
    for (int planned = 0; planned < 2; planned++) {
        struct clusteropt o =
            options(planned ? "--gpus 40 --jobs 1200 --slo 0.9 --error 0 --memory-error 0 "
                              "--hold-error 0 --policy gslice,gpucolo --plan-slo"
                            : "--gpus 40 --jobs 1200 --slo 0.9 --error 0 --memory-error 0 "
                              "--hold-error 0 --policy gslice,gpucolo");
        struct clusters c = run(&o);
        cr_expect(planned ? MEAN(c, o, "gslice", violations) == 0
                          : MEAN(c, o, "gslice", violations) > 0.01);
        cr_expect(!planned || MEAN(c, o, "gpucolo", violations) == 0);
        clusters_finish(&c);
    }
}

/* With exact knowledge, services are never late except for the controller's error. */
Test(sim_cluster, gpucolo_holds_what_it_promises) {
    struct clusteropt o =
        options("--gpus 24 --jobs 600 --load 1.2 --slo 1.2 --error 0 "
                "--memory-error 0 --hold-error 0 --policy gslice,gpucolo,best_fit");
    struct clusters c = run(&o);
    cr_expect_eq(MEAN(c, o, "gslice", violations), 0);
    cr_expect_eq(MEAN(c, o, "gpucolo", violations), 0);
    cr_expect(MEAN(c, o, "best_fit", violations) > 0);
    clusters_finish(&c);
}

/* When predictions are wrong, trainings suffer, not services; with the curve both would. */
Test(sim_cluster, under_gpucolo_services_get_what_they_promise_first) {
    double late[2];
    for (int curve = 0; curve < 2; curve++) {
        struct clusteropt o =
            options(curve ? "--gpus 24 --jobs 600 --slo 1.05 --error 0.5 --memory-error 0 "
                            "--measure 0 --policy gpucolo --speeds curve"
                          : "--gpus 24 --jobs 600 --slo 1.05 --error 0.5 --memory-error 0 "
                            "--measure 0 --policy gpucolo");
        struct clusters c = run(&o);
        late[curve] = MEAN(c, o, "gpucolo", violations);
        clusters_finish(&c);
    }
    cr_expect(late[0] < late[1] / 2, "%g, %g", late[0], late[1]);
}

Test(sim_cluster, the_same_gives_the_same_and_another_seed_does_not) {
    char *text[3];
    for (int i = 0; i < 3; i++) {
        size_t bytes;
        struct clusteropt o = options(i < 2 ? "--gpus 24 --jobs 300 --seed 5 --policy fifo,horus"
                                            : "--gpus 24 --jobs 300 --seed 6 --policy fifo,horus");
        struct clusters c = run(&o);
        FILE *f = open_memstream(&text[i], &bytes);
        clusters_json(&c, &o.config, f);
        fclose(f);
        clusters_finish(&c);
    }
    cr_expect_str_eq(text[0], text[1]);
    cr_expect(strcmp(strstr(text[0], "policies"), strstr(text[2], "policies")) != 0);
    for (int i = 0; i < 3; i++)
        free(text[i]);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void write_file(const char *path, const char *text) {
    FILE *f = fopen(path, "we");
    cr_assert(f);
    fputs(text, f);
    fclose(f);
}

Test(sim_cluster, jobs_and_nodes_come_from_files) {
    char folder[] = "/tmp/salus-cluster-XXXXXX", nodes[64], jobs[64], command[TEXT_BYTES];
    cr_assert(mkdtemp(folder));
    snprintf(nodes, sizeof(nodes), "%s/nodes.csv", folder);
    snprintf(jobs, sizeof(jobs), "%s/jobs.csv", folder);
    write_file(nodes, "gpu,gpu_mib\n2,1000\n");
    write_file(jobs,
               "arrival_s,length_s,util,persistent_mib\n0,10,1,600\n0,20,1,600\n5,30,1,600\n");
    snprintf(command, sizeof(command), "%s --nodes %s --policy fifo --memory-error 0", jobs, nodes);
    struct clusteropt o = options(command);
    struct clusters c = run(&o);
    cr_expect(c.jobs == 3 && c.gpus == 2 && c.nodes == 1);
    cr_expect_float_eq(MEAN(c, o, "fifo", makespan), 40, 1e-6);
    cr_expect_float_eq(MEAN(c, o, "fifo", wait), 5 / 3.0, 1e-6);
    clusters_finish(&c);

    struct buf errors;
    buf_init(&errors);
    write_file(jobs, "arrival_s,length_s\n0,x\n");
    cr_expect_eq(clusters_run(&c, &o.config, no_progress, NULL, &errors), -EINVAL);
    cr_expect(strstr(buf_str(&errors), "/jobs.csv:2: length_s: 'x'"), "%s", buf_str(&errors));
    buf_clear(&errors);
    unlink(jobs);
    cr_expect_eq(clusters_run(&c, &o.config, no_progress, NULL, &errors), -ENOENT);
    cr_expect(strstr(buf_str(&errors), "/jobs.csv: No such file"), "%s", buf_str(&errors));
    buf_finish(&errors);
    unlink(nodes);
    rmdir(folder);
}

/* Eight services of 0.14 may share a GPU if each may take 1.2 times as long; the curve of pairs
 * would allow ten. */
Test(sim_cluster, services_beside_services_are_reckoned_by_their_shares) {
    char path[] = "/tmp/salus-cluster-XXXXXX", command[TEXT_BYTES];
    int fd = mkstemp(path);
    cr_assert(fd >= 0);
    dprintf(fd, "arrival_s,length_s,util,kind,slo\n");
    for (int i = 0; i < 20; i++)
        dprintf(fd, "0,100,0.14,service,1.2\n");
    close(fd);
    snprintf(command, sizeof(command),
             "%s --gpus 2 --policy gslice --error 0 --hold-error 0 --measure 0", path);
    struct clusteropt o = options(command);
    struct clusters c = run(&o);
    cr_expect_eq(MEAN(c, o, "gslice", violations), 0);
    cr_expect_float_eq(MEAN(c, o, "gslice", wait), 112 * 4 / 20.0, 1e-6, "four wait");
    clusters_finish(&c);
    unlink(path);
}
