/* SPDX-License-Identifier: Apache-2.0
 *
 * Advice on sharing a device: pairs of jobs computed by hand, the resulting text, and files without
 * a common device.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sim/compare/advise.h"
#include "daemon/sim/compare/advise_svg.h"
#include "daemon/sim/compare/advise_text.h"
#include "daemon/sim/workload/workload_file.h"

#define NEEDS "persistent=1MiB ephemeral=1GiB "

struct asked {
    struct workload files[WORKLOAD_MERGE_FILES];
    uint32_t count;
    struct advise_config config;
    struct advise advise;
    int err;
    char why[SIM_WHY_BYTES];
};

static const char *const paths[] = {"x/one.wl", "two.wl", "three.wl"};

static void ask(struct asked *a, enum advise_goal goal, const char *one, const char *two) {
    const char *texts[] = {one, two};
    memset(a, 0, sizeof(*a));
    a->count = two ? 2 : 1;
    for (uint32_t i = 0; i < a->count; i++) {
        struct buf errors;
        buf_init(&errors);
        cr_assert_eq(workload_parse(&a->files[i], texts[i], strlen(texts[i]), &errors), 0, "%s",
                     buf_str(&errors));
        buf_finish(&errors);
    }
    a->config = (struct advise_config){
        .policy = {.exclusive = -1, .swap = -1, .priorities = -1, .by_class = -1, .by_size = -1},
        .goal = goal,
        .most_loss = 0.1,
        .seed = 1,
        .starts = 4,
        .check = true};
    a->err = advise_run(&a->advise, a->files, paths, a->count, &a->config, a->why);
}

static void finish(struct asked *a) {
    if (!a->err) advise_finish(&a->advise);
    for (uint32_t i = 0; i < a->count; i++)
        workload_finish(&a->files[i]);
}

static char *text_of(const struct asked *a, void (*write)(const struct advise *, FILE *)) {
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    write(&a->advise, f);
    fclose(f);
    return text;
}

static const struct advise_row *row_of(const struct asked *a, const char *label) {
    char name[ADVISE_LABEL];
    for (uint32_t i = 0; i < a->advise.count; i++) {
        advise_label(&a->advise.rows[i], name);
        if (strcmp(name, label) == 0) return &a->advise.rows[i];
    }
    cr_assert_fail("no %s", label);
    return NULL;
}

static void expect_near(double got, double want) {
    cr_expect_float_eq(got, want, 0.02, "%g, not %g", got, want);
}

/* ---- pairs ----------------------------------------------------------------------------------- */

#define HALF "job name=half demand=0.5 iterations=100 iteration=10ms " NEEDS "\n"
#define WHOLE "job name=whole iterations=100 iteration=10ms " NEEDS "\n"

Test(sim_advise, two_that_fit_beside_one_another_share) {
    struct asked a;
    ask(&a, ADVISE_GOALS, HALF, HALF);
    cr_assert_eq(a.err, 0, "%s", a.why);
    cr_expect_eq(a.advise.goal, ADVISE_THROUGHPUT);
    cr_expect(a.advise.together);
    expect_near(advise_mean(&a.advise.rows[a.advise.best].gain), 2);
    expect_near(advise_mean(&row_of(&a, "pack")->slowdowns[1]), 1);
    expect_near(advise_mean(&row_of(&a, "fair, exclusive")->gain), 1);
    expect_near(advise_mean(&row_of(&a, "fifo")->slowdowns[1]), 2);
    char *text = text_of(&a, advise_text);
    cr_expect_not_null(
        strstr(text, "\nRun the jobs together, under fair:\n  salusctl policy set --lane fair "
                     "exclusive=auto\n"),
        "%s", text);
    cr_expect_not_null(strstr(text, "half (two.wl) alone: 1.00 s.\n"), "%s", text);
    cr_expect_not_null(strstr(text, "2.00 s one after the other: "), "%s", text);
    cr_expect_not_null(strstr(text, "Certainty: 4 of 4 starts"), "%s", text);
    cr_expect_not_null(strstr(text, "record with --kernels"), "%s", text);
    free(text);
    finish(&a);
}

Test(sim_advise, two_that_fill_it_do_not) {
    struct asked a;
    ask(&a, ADVISE_GOALS, WHOLE, WHOLE);
    cr_assert_eq(a.err, 0, "%s", a.why);
    cr_expect_not(a.advise.together);
    expect_near(advise_mean(&a.advise.rows[a.advise.best].gain), 1);
    char *text = text_of(&a, advise_text);
    cr_expect_not_null(strstr(text, "\nRun the jobs apart: sharing gains less than 5 %"), "%s",
                       text);
    cr_expect_not_null(strstr(text, "Certainty: 4 of 4 starts"), "%s", text);
    free(text);
    finish(&a);
}

/* Side by side, a request of 10 ms gets .75 of a device of which another takes .25 to .5, for 40
 * ms; in turns it waits for the other's iteration. */
#define SERVER "job name=server iterations=40 iteration=10ms think=exp(30ms) " NEEDS "\n"
#define SLOW "job name=slow demand=0.5 iterations=100 iteration=40ms " NEEDS "\n"

Test(sim_advise, what_a_server_may_lose_decides) {
    struct asked a;
    ask(&a, ADVISE_GOALS, SERVER, SLOW);
    cr_assert_eq(a.err, 0, "%s", a.why);
    cr_expect_eq(a.advise.goal, ADVISE_LATENCY);
    cr_expect_not(a.advise.together);
    char *text = text_of(&a, advise_text);
    cr_expect_not_null(
        strstr(text, "Run the jobs apart: under every policy that gains something, a job"), "%s",
        text);
    free(text);
    finish(&a);
    ask(&a, ADVISE_THROUGHPUT, SERVER, SLOW);
    cr_expect(a.advise.together, "what is lost is nobody's concern");
    finish(&a);
}

Test(sim_advise, fair_is_whoever_loses_most) {
    struct asked a;
    /* srtf serves the short job first: more work is done by then, and the long one loses nothing
     * more. With fair turns, both lose equally. */
    ask(&a, ADVISE_FAIR, "job name=x iterations=10 iteration=10ms " NEEDS "\n",
        "job name=y iterations=100 iteration=10ms " NEEDS "\n");
    cr_assert_eq(a.err, 0, "%s", a.why);
    const struct advise_row *best = &a.advise.rows[a.advise.best];
    for (uint32_t i = 0; i < a.advise.count; i++) {
        const struct advise_range *s = a.advise.rows[i].slowdowns;
        double worst =
            advise_mean(&s[0]) > advise_mean(&s[1]) ? advise_mean(&s[0]) : advise_mean(&s[1]);
        cr_expect_geq(worst, 1.0);
        cr_expect_leq(advise_mean(&best->slowdowns[0]), worst + 1e-9);
        cr_expect_leq(advise_mean(&best->slowdowns[1]), worst + 1e-9);
    }
    finish(&a);
}

/* ---- kernels --------------------------------------------------------------------------------- */

#define KERNELS(name, kernel) \
    "kernels name=k\n" kernel "\njob name=" name " kernels=k iterations=200 " NEEDS "\n"

Test(sim_advise, sequences_of_one_name_stay_apart) {
    struct asked a;
    ask(&a, ADVISE_GOALS, KERNELS("big", "k 100us sms=20 class=compute"),
        KERNELS("small", "k 10us sms=20 class=compute"));
    cr_assert_eq(a.err, 0, "%s", a.why);
    expect_near(advise_mean(&a.advise.alone_s[0]) * 1e3, 20);
    expect_near(advise_mean(&a.advise.alone_s[1]) * 1e3, 2);
    expect_near(advise_mean(&row_of(&a, "fair/streams")->slowdowns[1]), 1);
    cr_expect(a.advise.together);
    char *text = text_of(&a, advise_json);
    cr_expect_not_null(strstr(text, "{\"name\":\"small\",\"file\":2,"), "%s", text);
    cr_expect_not_null(strstr(text, "\"together\":true,\"agree\":4,"), "%s", text);
    free(text);
    text = text_of(&a, advise_svg);
    cr_expect_not_null(strstr(text, ">Time relative to the time alone: share<"), "%s", text);
    free(text);
    finish(&a);
}

Test(sim_advise, starts_are_at_other_moments) {
    struct asked a;
    ask(&a, ADVISE_GOALS, KERNELS("a", "k 100us sms=800 class=compute\nh 100us"),
        KERNELS("b", "k 100us sms=800 class=compute\nh 100us"));
    cr_assert_eq(a.err, 0, "%s", a.why);
    cr_expect_eq(a.advise.shift_ns, 200000);
    const struct advise_range *s = &row_of(&a, "fair/streams")->makespan_s;
    cr_expect_eq(s->count, 4);
    cr_expect_gt(s->most, s->least);
    finish(&a);
}

/* ---- unanswerable questions ------------------------------------------------------------------ */

Test(sim_advise, who_is_too_large_is_named) {
    struct asked a;
    ask(&a, ADVISE_GOALS, WHOLE,
        "job name=huge iterations=1 iteration=1ms persistent=1GiB ephemeral=16GiB\n");
    cr_assert_eq(a.err, 0, "%s", a.why);
    cr_expect_not(a.advise.together);
    char *text = text_of(&a, advise_text);
    cr_expect_str_eq(text,
                     "The jobs cannot run together: huge (two.wl) is refused: needs more memory "
                     "than the device has: 1 GiB persistent + 16 GiB ephemeral needed, the "
                     "device has 16 GiB.\n",
                     "%s", text);
    free(text);
    text = text_of(&a, advise_json);
    cr_expect_not_null(strstr(text, "\"refused\":\"huge\",\"together\":null}"), "%s", text);
    free(text);
    finish(&a);
}

static void expect_refused(const char *one, const char *two, const char *sentence) {
    struct asked a;
    ask(&a, ADVISE_GOALS, one, two);
    cr_expect_eq(a.err, -EINVAL);
    cr_expect_not_null(strstr(a.why, sentence), "%s", a.why);
    finish(&a);
}

Test(sim_advise, files_of_two_devices_are_refused) {
    expect_refused(WHOLE, KERNELS("k", "k 1us sms=1"),
                   "file 2 has kernels, the first file has iter");
    expect_refused(WHOLE,
                   "device memory=1GiB\njob name=j iterations=1 iteration=1ms persistent=0 "
                   "ephemeral=0\n",
                   "file 2 has another memory than");
    expect_refused(KERNELS("a", "k 1us sms=1"), "device sliced=yes\n" KERNELS("b", "k 1us sms=1"),
                   "another sliced");
}

Test(sim_advise, goals_have_names) {
    cr_expect_eq(advise_goal_find("latency"), ADVISE_LATENCY);
    cr_expect_eq(advise_goal_find("quick"), ADVISE_GOALS);
    cr_expect_str_eq(advise_goal_name(ADVISE_FAIR), "fair");
}
