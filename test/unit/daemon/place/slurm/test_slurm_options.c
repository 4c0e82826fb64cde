/* SPDX-License-Identifier: Apache-2.0
 *
 * The options of plugstack.conf, the command line of the placer, and programs that the plugin runs.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/place/slurm/placer/options.h"
#include "daemon/place/slurm/spank/child.h"
#include "daemon/place/slurm/spank/settings.h"

static char why[300];

/* ---- plugstack.conf -------------------------------------------------------------------------- */

Test(slurm_options, settings_have_presets) {
    struct settings s;
    const char *wrong;

    cr_expect_eq(settings_parse(&s, 0, NULL, &wrong), 0);
    cr_expect_str_eq(s.salusctl, "/usr/bin/salusctl");
    cr_expect_str_eq(s.gres, "salus");
    cr_expect(s.prolog);
    cr_expect_null(s.predictor);
}

Test(slurm_options, settings_are_read_and_others_named) {
    char *words[] = {"salusctl=/x/salusctl", "run_dir=/r/%n", "predictor=/p", "gres=g",
                     "prolog=no"};
    struct settings s;
    const char *wrong = NULL;

    cr_assert_eq(settings_parse(&s, 5, words, &wrong), 0);
    cr_expect_str_eq(s.salusctl, "/x/salusctl");
    cr_expect_str_eq(s.predictor, "/p");
    cr_expect_str_eq(s.gres, "g");
    cr_expect(!s.prolog);
    for (const char *const *bad =
             (const char *const[]){"salusctl", "gres=", "prolog=maybe", "x=1", NULL};
         *bad; bad++) {
        char *one[] = {(char *)*bad};
        cr_expect_eq(settings_parse(&s, 1, one, &wrong), -EINVAL, "%s", *bad);
        cr_expect_str_eq(wrong, *bad);
    }
}

Test(slurm_options, run_dirs_are_of_a_node) {
    struct settings s = {.run_dir = "/r/%n/x%n%d"};
    char out[PATH_MAX], name[PATH_MAX];

    cr_expect_str_eq(settings_run_dir(&s, "n7", out), "/r/n7/xn7%d");
    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    cr_expect_null(settings_run_dir(&s, name, out), "too long");
    s.run_dir = NULL;
    cr_expect_null(settings_run_dir(&s, "n7", out));
}

/* ---- the placer ------------------------------------------------------------------------------ */

static int parse(struct options *o, const char *word) {
    static char copy[200];
    char *argv[] = {copy, NULL};

    snprintf(copy, sizeof(copy), "%s", word);
    return options_parse(o, argv, why, sizeof(why));
}

Test(slurm_options, the_placer_has_presets) {
    struct options o;
    char *none[] = {NULL};

    cr_assert_eq(options_parse(&o, none, why, sizeof(why)), 0);
    cr_expect_str_eq(o.round.place.policy, "horus");
    cr_expect_eq(o.interval_ns, 2000000000u);
    cr_expect_eq(o.round.patience_s, 60);
    cr_expect_eq(o.ctld.stale_ns, 120000000000);
    cr_expect_float_eq(o.round.util, 0.5, 1e-9);
    cr_expect_eq(o.round.mem_bytes, 1u << 30);
    cr_expect_str_eq(o.ctld.gres, "salus");
    cr_expect(!o.once);
}

Test(slurm_options, the_placer_takes_what_it_is_told) {
    struct options o;

    cr_expect_eq(parse(&o, "--policy=fifo"), 0);
    cr_expect_str_eq(o.round.place.policy, "fifo");
    cr_expect_eq(parse(&o, "--memory=lanes"), 0);
    cr_expect_eq(o.round.place.memory, PLACE_MEMORY_LANES);
    cr_expect_eq(parse(&o, "--dry-run"), 0);
    cr_expect(o.dry && o.once);
}

Test(slurm_options, the_placer_refuses_the_rest) {
    static const struct {
        const char *word, *why;
    } cases[] = {{"--policy=pab", "--policy: 'pab' is not a policy; see salus-placer --help"},
                 {"--policy=x", "--policy: 'x' is not a policy; see salus-placer --help"},
                 {"--memory=some", "--memory: 'some' is not sum or lanes"},
                 {"--interval=2", "--interval: '2' is not a time such as 30s"},
                 {"--interval=1ms", "--interval: '1ms' is out of range"},
                 {"--util=101%", "--util: '101%' is out of range"},
                 {"--mem=0", "--mem: '0' is out of range"},
                 {"--gres", "--gres: '' is an option without its value"},
                 {"--once=1", "salus-placer: '--once=1' is not an option; see salus-placer --help"},
                 {"word", "salus-placer: 'word' is not an option; see salus-placer --help"}};
    struct options o;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cr_expect_eq(parse(&o, cases[i].word), -EINVAL, "%s", cases[i].word);
        cr_expect_str_eq(why, cases[i].why, "%s", why);
    }
}

/* ---- programs -------------------------------------------------------------------------------- */

static struct child_output out;

static int sh(const char *script) {
    char *argv[] = {"/bin/sh", "-c", (char *)script, NULL};

    return child_run(argv, environ, CHILD_LIMIT_MS, &out);
}

Test(slurm_options, a_program_says_what_it_says) {
    cr_assert_eq(sh("printf 'a\\0b'; echo oops >&2; exit 3"), 0);
    cr_expect_eq(out.status, 3);
    cr_expect_eq(out.out_bytes, 3);
    cr_expect_eq(memcmp(out.out, "a\0b", 4), 0);
    cr_expect_str_eq(out.err, "oops");
    child_finish(&out);
    cr_assert_eq(sh("kill -9 $$"), 0);
    cr_expect_eq(out.status, 137);
    child_finish(&out);
}

Test(slurm_options, a_program_that_is_not_there_is_an_error) {
    char *argv[] = {"/nowhere/salusctl", NULL};

    cr_expect_eq(child_run(argv, environ, CHILD_LIMIT_MS, &out), -ENOENT);
}

Test(slurm_options, a_program_may_say_too_much) {
    cr_assert_eq(sh("head -c 3000000 /dev/zero; head -c 100000 /dev/zero | tr '\\0' x >&2"), 0);
    cr_expect_eq(out.status, 0);
    cr_expect_eq(out.out_bytes, CHILD_OUTPUT_BYTES);
    cr_expect_eq(strlen(out.err), sizeof(out.err) - 1);
    child_finish(&out);
}
