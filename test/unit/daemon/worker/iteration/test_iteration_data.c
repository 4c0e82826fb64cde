/* SPDX-License-Identifier: Apache-2.0
 *
 * The iteration detector on recordings of real programs (test/e2e/results/record_iterations.py
 * explains how they are made and their text format). A boundary is right if the program itself
 * reports, in another run, that an iteration begins with this launch. `steady`: boundaries that are
 * as far behind the latest right place as the one before, which shows a right period in another
 * phase.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/worker/iteration/iteration.h"

#define TENTH_MS_NS 100000ull

struct replay {
    struct iteration *it;
    uint64_t live, now_ns;
    bool due;
    uint32_t launches, truths, found, right, steady;
    uint32_t phase, found_phase;
};

static void replay_launch(struct replay *r, const char *token) {
    char *rest;
    unsigned long number = strtoul(token, &rest, 10);
    cr_assert_neq(rest, token, "a token like %s", token);
    if (*rest == ':') r->live = strtoull(rest + 1, &rest, 10);
    if (*rest == ',') iteration_drop(r->it, strtoull(rest + 1, &rest, 10));
    cr_assert_eq(*rest, 0, "a token like %s", token);
    bool got = iteration_launch(r->it, (number + 1) * 0x9e3779b97f4a7c15ull, r->live, r->now_ns);
    r->phase = r->due ? 0 : r->phase + 1;
    r->launches++;
    r->truths += r->due;
    r->found += got;
    r->right += got && r->due;
    r->steady += got && r->phase == r->found_phase;
    if (got) r->found_phase = r->phase;
    r->due = false;
}

static void replay_token(struct replay *r, const char *token) {
    if (strcmp(token, "m") == 0)
        r->due = true;
    else if (strcmp(token, "i") == 0)
        iteration_idle(r->it, r->now_ns);
    else if (token[0] == '+')
        r->now_ns += strtoull(token + 1, NULL, 10) * TENTH_MS_NS;
    else
        replay_launch(r, token);
}

static void replay_line(struct replay *r, const char *line) {
    unsigned long times = line[0] == 'x' ? strtoul(line + 1, NULL, 10) : 1;
    if (line[0] == '#') return;
    if (line[0] == 'x') line += strcspn(line, " \n");
    for (; times; times--) {
        char *copy = strdup(line), *rest = copy, *token;
        while ((token = strtok_r(rest, " \n", &rest)))
            replay_token(r, token);
        free(copy);
    }
}

static struct replay replay_file(const char *name) {
    struct replay r = {0};
    char path[128], *line = NULL;
    size_t cap = 0;
    snprintf(path, sizeof(path), "build/data/iterations/%s.txt", name);
    FILE *f = fopen(path, "r");
    cr_assert_not_null(f, "%s", path);
    cr_assert_eq(iteration_create(&r.it), 0);
    while (getline(&line, &cap, f) > 0)
        replay_line(&r, line);
    free(line);
    fclose(f);
    return r;
}

static const char *source_name(const struct iteration *it) {
    static const char *const names[] = {"none", "mark", "period", "gap"};
    return names[iteration_source(it)];
}

static double part(uint32_t of, uint32_t all) {
    return all ? (double)of / all : 1;
}

/* The required minimum; period 0: any period. */
static const struct {
    const char *name;
    double recall;
    uint32_t period;
} recordings[] = {
    {"train", 0.75, 4},       {"temporaries", 0.9, 20},    {"accumulate2", 0.85, 37},
    {"accumulate4", 0.9, 71}, {"accumulate16", 0.69, 275}, {"evaluate", 0.8, 20},
    {"pair", 0.9, 44},        {"requests", 0.75, 0},       {"requests_busy", 0.5, 0},
    {"aimless", 1, 0},        {"autotune", 0.8, 44},
};

Test(iteration_data, recordings) {
    printf("| recording | launches | iterations | found by | period | found | precision | recall | "
           "steady |\n|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof(recordings) / sizeof(recordings[0]); i++) {
        struct replay r = replay_file(recordings[i].name);
        double precision = part(r.right, r.found), recall = part(r.right, r.truths);
        printf("| %s | %u | %u | %s | %u | %u | %.3f | %.3f | %u |\n", recordings[i].name,
               r.launches, r.truths, source_name(r.it), iteration_period(r.it), r.found, precision,
               recall, r.steady);
        cr_expect_gt(r.launches, 1000);
        cr_expect_geq(precision, 0.99, "%s: %u of %u", recordings[i].name, r.right, r.found);
        cr_expect_geq(recall, recordings[i].recall, "%s: %u of %u", recordings[i].name, r.right,
                      r.truths);
        if (recordings[i].period)
            cr_expect_eq(iteration_period(r.it), recordings[i].period, "%s: %u", recordings[i].name,
                         iteration_period(r.it));
        if (!r.truths) cr_expect_eq(r.found, 0, "%s has none", recordings[i].name);
        iteration_destroy(r.it);
    }
}
