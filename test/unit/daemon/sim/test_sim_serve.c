/* SPDX-License-Identifier: Apache-2.0
 *
 * `salus-sim serve`: its options, invalid arguments, and its output.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sim/compare/serve_text.h"
#include "daemon/sim/run/sim.h"
#include "daemon/sim/verbs/serveopt.h"

#define WORDS 64

/* Splits the text at blanks into argv. */
static bool take(struct serveopt *o, char *text, const char *command) {
    char *argv[WORDS] = {"serve"}, *rest = text;
    int count = 1;
    strcpy(text, command);
    for (char *word; (word = strsep(&rest, " ")) && count < WORDS - 1;)
        if (*word) argv[count++] = word;
    FILE *err = fopen("/dev/null", "we");
    serveopt_init(o);
    bool taken = serveopt_take(o, argv, err);
    fclose(err);
    return taken;
}

static void no_progress(void *arg, uint32_t world, uint32_t of) {
    cr_assert_lt(world, of);
    ++*(uint32_t *)arg;
}

Test(sim_serve, options_make_a_world) {
    struct serveopt o;
    char text[512];
    cr_assert(
        take(&o, text,
             "--modes 2 --low 5ms --high=20ms --sigma 1ms,3ms --c0 2500us --c1 0.5 --overhead 1us "
             "--load 0.9 --slo 1.5,8 --arrivals bursty --requests 7 --workers 2 --largest 4 "
             "--seed 3 --seeds 2 --unknown --set own=yes --set b=1e-6 --set grace=3ms --json"));
    const struct demand_spec *d = &o.config.demand;
    cr_expect_eq(d->modes, 2);
    cr_expect_float_eq(d->low_ms, 5, 1e-9);
    cr_expect_float_eq(d->high_ms, 20, 1e-9);
    cr_expect_float_eq(d->sigma_ms, 1, 1e-9);
    cr_expect_float_eq(d->widening, 3, 1e-9);
    cr_expect_float_eq(d->c0_ms, 2.5, 1e-9);
    cr_expect_float_eq(d->c1, 0.5, 1e-9);
    cr_expect_float_eq(d->overhead_ms, 0.001, 1e-9);
    cr_expect_float_eq(d->load, 0.9, 1e-9);
    cr_expect(d->bursty && d->unknown && o.json && !o.detail);
    cr_expect(d->count == 7 && d->workers == 2 && d->largest == 4);
    cr_expect(o.config.seed == 3 && o.config.seeds == 2 && o.config.slo_count == 2);
    cr_expect_float_eq(o.config.slos[1], 8, 1e-9);
    cr_expect(o.config.plan.own && !o.config.plan.urgent && !o.config.plan.plain);
    cr_expect_float_eq(o.config.plan.b_per_ms, 1e-6, 1e-12);
    cr_expect_eq(o.config.plan.grace_ns, 3000000);
    serveopt_finish(&o);
}

Test(sim_serve, what_cannot_be_is_refused) {
    const char *const bad[] = {"--modes 0",
                               "--modes 9",
                               "--modes x",
                               "--low 5",
                               "--load 0",
                               "--load -1",
                               "--load nan",
                               "--slo 1,,2",
                               "--slo 0",
                               "--sigma 0,1ms",
                               "--low 2s --high 1s",
                               "--arrivals often",
                               "--set own",
                               "--set b=x",
                               "--set colour=1",
                               "--set own=2",
                               "--set ahead=5",
                               "--requests 1e3",
                               "--seeds 0",
                               "--frob 1",
                               "word",
                               "--json=1",
                               "--policy",
                               "--largest 129",
                               "--workers 65",
                               "--arrivals gaps:/nowhere",
                               "--lognormal 5",
                               "--c0 0 --c1 0",
                               "--slo 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct serveopt o;
        char text[512];
        cr_expect_not(take(&o, text, bad[i]), "%s", bad[i]);
        serveopt_finish(&o);
    }
}

static int run(const char *command, struct serveopt *o, struct serve *s, char *why) {
    char text[512];
    uint32_t worlds = 0;
    cr_assert(take(o, text, command), "%s", command);
    int err = serve_run(s, &o->config, no_progress, &worlds, why);
    if (!err) cr_expect_eq(worlds, o->config.slo_count * o->config.seeds);
    serveopt_finish(o);
    return err;
}

/* Fractions of all requests add up; another seed gives another world. */
Test(sim_serve, every_request_is_one_of_four) {
    struct serveopt o;
    struct serve s;
    char why[SIM_WHY_BYTES];
    cr_assert_eq(run("--requests 500 --seeds 3 --slo 2,4 --load 1", &o, &s, why), 0);
    cr_expect_str_eq(s.policies[0], "orloj");
    cr_expect_gt(s.policy_count, 4);
    for (uint32_t slo = 0; slo < 2; slo++)
        for (uint32_t i = 0; i < s.policy_count; i++) {
            const struct serve_cell *c = &s.cells[slo][i];
            cr_expect_eq(c->finished.count, 3);
            double sum = measure_mean(&c->finished) + measure_mean(&c->late) +
                         measure_mean(&c->timed_out) + measure_mean(&c->refused);
            cr_expect_float_eq(sum, 1, 1e-9, "%s", s.policies[i]);
            cr_expect(measure_mean(&c->busy) > 0 && measure_mean(&c->busy) <= 1);
            cr_expect(measure_mean(&c->batch) >= 1 && measure_mean(&c->batch) <= 16);
        }
    cr_expect_gt(measure_spread(&s.cells[0][0].finished), 0);
    cr_expect_gt(measure_mean(&s.cells[1][0].finished), measure_mean(&s.cells[0][0].finished));
}

Test(sim_serve, what_the_scheduler_refuses_is_said) {
    struct serveopt o;
    struct serve s;
    char why[SIM_WHY_BYTES];
    cr_expect_lt(run("--policy orloj,lottery", &o, &s, why), 0);
    cr_expect(strstr(why, "'lottery' is not one of orloj clockwork"), "%s", why);
    cr_expect_lt(run("--lognormal 1ms,20ms", &o, &s, why), 0);
    cr_expect(strstr(why, "lognormal"), "%s", why);
    cr_expect_lt(run("--set b=2", &o, &s, why), 0);
    cr_expect(strstr(why, "b must be above 0"), "%s", why);
}

static char *text_of(const struct serve *s, const struct serveopt *o, bool json) {
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    if (json)
        serve_json(s, &o->config, f);
    else
        serve_table(s, &o->config, true, f);
    fclose(f);
    return text;
}

Test(sim_serve, the_table_has_a_line_a_deadline_and_details) {
    struct serveopt o;
    struct serve s;
    char why[SIM_WHY_BYTES];
    cr_assert_eq(run("--requests 200 --seeds 2 --slo 2,4 --policy nexus,orloj", &o, &s, why), 0);
    char *table = text_of(&s, &o, false), *json = text_of(&s, &o, true);
    cr_expect(strstr(table, "  SLO          nexus          orloj\n    2 "), "%s", table);
    cr_expect(strstr(table, " ±"), "%s", table);
    cr_expect(strstr(table, "\n      nexus      in time "), "%s", table);
    cr_expect(
        strstr(json, "{\"slo\":4,\"policies\":[{\"policy\":\"nexus\",\"finish_rate\":{\"mean\":"),
        "%s", json);
    free(table);
    free(json);
}

static struct gaps read_text(const char *text, int expected) {
    struct gaps g;
    FILE *f = fmemopen((void *)text, strlen(text), "r");
    cr_assert_eq(gaps_read(&g, f), expected, "%s", text);
    fclose(f);
    return g;
}

Test(sim_serve, gaps_are_a_list_of_seconds) {
    struct gaps g = read_text(" [0.5, 2e-3,\n3]", 0);
    cr_assert_eq(g.count, 3);
    cr_expect(g.s[0] == 0.5 && g.s[1] == 2e-3 && g.s[2] == 3);
    gaps_finish(&g);
    const char *const bad[] = {"{}", "[]", "[1", "[1,", "[1, x]", "[0]", "[-1]", "[1e9]", "[nan]"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        read_text(bad[i], -22);
    cr_expect_eq(read_text("[1, 2, x]", -22).count, 2);
}
