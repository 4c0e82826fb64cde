/* SPDX-License-Identifier: Apache-2.0
 *
 * Every parameter of daemon/policy/policies.def in all places: configuration, message to the
 * worker, scheduler, notation, request and answer of the control protocol, command lines; at its
 * bounds, and one beyond them.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/broker/config/policy_choice.h"
#include "daemon/ctl/cli/keys.h"
#include "daemon/policy/parameters.h"
#include "daemon/policy/policies.h"
#include "daemon/sched/control/controller.h"
#include "daemon/sched/core/config.h"
#include "daemon/sched/core/life.h"
#include "daemon/sched/core/view.h"
#include "daemon/sched/policy/lane_policy.h"
#include "daemon/sched/policy/policy.h"
#include "daemon/sched/record/notation.h"
#include "daemon/sim/verbs/simopt.h"

static char why[CONFIG_WHY_BYTES];

/* ---- the tables ------------------------------------------------------------------------------ */

Test(parameters, the_policies_that_are_shown_are_those_that_are_there) {
    const struct policies_entry *p;
    uint32_t lanes = 0, kernels = 0, controls = 0;

    for (int i = 0; (p = policies_at(i)); i++) {
        const char *name = p->grain == POLICIES_KERNEL ? policy_at(kernels++)->name
                           : p->grain == POLICIES_LANE ? lane_policy_at(lanes++)->name
                                                       : controller_at(controls++)->name;
        cr_expect_str_eq(p->name, name);
        cr_expect_lt(strlen(name), POLICY_NAME_BYTES);
        for (int grain = 0; grain < POLICIES_GRAINS; grain++)
            cr_expect_eq(policies_find((enum policies_grain)grain, name),
                         (int)p->grain == grain ? p : NULL);
    }
    cr_expect_null(policy_at(kernels));
    cr_expect_null(lane_policy_at(lanes));
    cr_expect_null(controller_at(controls));
}

Test(parameters, a_parameter_of_a_policy_names_one_that_there_is) {
    const struct parameter *k;

    for (int i = 0; (k = parameters_at(i)); i++)
        if (*k->policy)
            cr_expect(policies_find(POLICIES_KERNEL, k->policy) ||
                          policies_find(POLICIES_LANE, k->policy) ||
                          policies_find(POLICIES_CONTROL, k->policy),
                      "%s", k->name);
}

Test(parameters, presets_are_within_bounds_and_what_they_say) {
    struct policy_config c;
    const struct parameter *k;

    parameters_clear(&c);
    parameters_fill(&c);
    for (int i = 0; (k = parameters_at(i)); i++) {
        char text[PARAMETERS_TEXT_BYTES];

        parameters_print(k, parameters_get(&c, k), text, sizeof(text));
        cr_expect_str_eq(text, k->preset, "%s", k->name);
        cr_expect_eq(parameters_check(k, parameters_get(&c, k), why, sizeof(why)), 0, "%s", why);
    }
    cr_expect_eq(c.overtakes, 16);
    cr_expect_eq(c.lease_ns, 1000000000);
    cr_expect_eq(c.dur_threshold, 25);
    cr_expect_eq(c.exclusive, -1);
    cr_expect_eq(c.by_class, 1);
}

Test(parameters, configurations_that_differ_in_one_parameter_are_not_the_same) {
    struct policy_config a, b;
    const struct parameter *k;

    for (int i = 0; (k = parameters_at(i)); i++) {
        parameters_clear(&a);
        parameters_clear(&b);
        cr_expect(parameters_same(&a, &b));
        cr_expect(parameters_put(&b, k, k->most ? k->most : 1), "%s: no room for its most",
                  k->name);
        cr_expect_not(parameters_same(&a, &b), "%s", k->name);
    }
    parameters_clear(&a);
    b = a;
    snprintf(b.kernel, sizeof(b.kernel), "orion");
    cr_expect_not(parameters_same(&a, &b));
    b = a;
    snprintf(b.control, sizeof(b.control), "gpucolo");
    cr_expect_not(parameters_same(&a, &b));
}

Test(parameters, a_number_without_room_is_no_configuration) {
    struct policy_config c;

    cr_expect_eq(notation_read_policy("policy(max_lanes=4294967295)", &c), 0);
    cr_expect_eq(notation_read_policy("policy(max_lanes=4294967296)", &c), -EINVAL);
    cr_expect_eq(notation_read_policy("policy(exclusive=4294967296)", &c), -EINVAL);
}

/* ---- each parameter in all places
 * --------------------------------------------------------------------- */

static enum ctl_arg arg_of(const struct parameter *k) {
    enum ctl_arg arg = 0;

    while (arg < CTL_A_COUNT && strcmp(ctl_arg_info(arg)->name, k->field) != 0)
        arg++;
    cr_assert_lt(arg, CTL_A_COUNT, "policy.set has no argument %s", k->field);
    cr_assert(ctl_verb_takes(CTL_V_policy_set, arg), "%s", k->field);
    return arg;
}

/* Reads a configuration that sets only this option to `text` into `out`. Returns the error of
 * config_set. */
static int configured(const struct parameter *k, const char *text, struct policy_config *out) {
    struct config config;
    int err;

    config_defaults(&config);
    err = config_set(&config, k->option, text, why, sizeof(why));
    policy_choice_read(out, &config);
    return err;
}

/* A request that sets it, encoded and decoded again. */
static int requested(const struct parameter *k, int64_t value, struct policy_config *out) {
    struct ctl_request r = {.verb = CTL_V_policy_set}, back;
    enum ctl_error error;
    char bytes[4096];
    size_t n;

    ctl_msg_put(&r, arg_of(k), value);
    cr_assert_eq(ctl_msg_request_encode(&r, bytes, sizeof(bytes), &n), 0);
    cr_assert_eq(ctl_msg_request_decode(bytes, n, &back, &error, why, sizeof(why)), 0, "%s", why);
    return policy_choice_change(out, &back, why);
}

static void expect_shown(const struct parameter *k, const struct policy_config *c, int64_t value) {
    struct ctl_policy_config shown;
    char text[PARAMETERS_TEXT_BYTES];
    int count;
    const struct ctl_field *f = ctl_fields(CTL_RECORD_POLICY_CONFIG, &count);

    policy_choice_show(c, 0, &shown);
    while (count && strcmp(f->name, k->field) != 0)
        f++, count--;
    cr_assert(count, "policy.show has no field %s", k->field);
    parameters_print(k, value, text, sizeof(text));
    if (f->kind == CTL_KIND_TEXT)
        cr_expect_str_eq(ctl_field_text(&shown, f), text, "%s", k->name);
    else
        cr_expect_eq(ctl_field_number(&shown, f), (uint64_t)value, "%s", k->name);
}

static void expect_recorded(const struct policy_config *c) {
    struct sched_event e = {.kind = SCHED_POLICY, .policy = *c}, back;
    char text[NOTATION_BYTES];

    cr_expect_lt(notation_event(text, &e), NOTATION_BYTES - 1);
    cr_assert_eq(notation_read_event(text, &back), 0, "%s", text);
    cr_expect(parameters_same(&back.policy, c), "%s", text);
}

static void expect_in_effect(const struct parameter *k, const struct policy_config *c,
                             int64_t value) {
    struct sched_config config = {.policy = *c};
    struct sched *s;

    cr_assert_eq(sched_create(&s, &config, why, sizeof(why)), 0, "%s", why);
    if (value >= 0)
        cr_expect_eq(parameters_get(sched_policy_config(s), k), value, "%s", k->name);
    else
        cr_expect_geq(parameters_get(sched_policy_config(s), k), 0, "%s: auto stayed", k->name);
    sched_destroy(s);
}

static void expect_keys(const struct parameter *k, int64_t value) {
    struct ctl_request r = {.verb = CTL_V_policy_set};
    struct cli cli = {.out = stdout, .err = stderr};
    struct simopt opt;
    char text[PARAMETERS_TEXT_BYTES], word[80], *words[4];
    char *argv[] = {"salus-sim", "--set", word, NULL};
    int64_t given;
    int count;

    parameters_print(k, value, text, sizeof(text));
    snprintf(word, sizeof(word), "%s=%s", k->name, text);
    cr_assert_eq(keys_take(&cli, word, &r), CLI_OK, "%s", word);
    memcpy(&given, (char *)&r.args + ctl_arg_info(arg_of(k))->offset, sizeof(given));
    cr_expect_eq(given, value, "%s", word);
    simopt_init(&opt);
    cr_assert(simopt_take(&opt, argv, words, &count, stderr), "%s", word);
    cr_expect_eq(parameters_get(&opt.policy, k), value, "--set %s", word);
}

static void expect_goes(const struct parameter *k, int64_t value) {
    struct policy_config c, changed;
    char text[PARAMETERS_TEXT_BYTES];

    parameters_print(k, value, text, sizeof(text));
    cr_assert_eq(configured(k, text, &c), 0, "%s", why);
    cr_expect_eq(parameters_get(&c, k), value, "%s = %s", k->option, text);
    cr_assert_eq(configured(k, k->preset, &changed), 0);
    cr_assert_eq(requested(k, value, &changed), 0, "%s", why);
    cr_expect(parameters_same(&c, &changed), "%s: nothing else changed", k->name);
    expect_shown(k, &c, value);
    expect_recorded(&c);
    expect_in_effect(k, &c, value);
    expect_keys(k, value);
}

static bool is_flag(const struct parameter *k) {
    return k->type == PARAMETERS_SWITCH || k->type == PARAMETERS_AUTO;
}

Test(parameters, every_parameter_goes_all_the_way_at_its_bounds) {
    const struct parameter *k;

    for (int i = 0; (k = parameters_at(i)); i++) {
        if (k->type == PARAMETERS_AUTO) expect_goes(k, -1);
        expect_goes(k, is_flag(k) ? 0 : k->least);
        expect_goes(k, is_flag(k) ? 1 : k->most);
    }
}

/* ---- beyond the bounds ----------------------------------------------------------------------- */

/* A refusal names the parameter and, for a number, both bounds. */
static void expect_said(const struct parameter *k, const char *name, const char *who) {
    char least[PARAMETERS_TEXT_BYTES], most[PARAMETERS_TEXT_BYTES];

    cr_expect_eq(strncmp(why, name, strlen(name)), 0, "%s: %s", who, why);
    if (is_flag(k)) return;
    parameters_print(k, k->least, least, sizeof(least));
    parameters_print(k, k->most, most, sizeof(most));
    cr_expect(strstr(why, least) && strstr(why, most), "%s: %s", who, why);
}

static void expect_refused(const struct parameter *k, int64_t value, bool by_scheduler) {
    struct policy_config c;
    char text[PARAMETERS_TEXT_BYTES] = "maybe";

    if (!is_flag(k)) parameters_print(k, value, text, sizeof(text));
    cr_expect_eq(configured(k, text, &c), -EINVAL, "%s = %s", k->option, text);
    expect_said(k, k->option, "configuration");
    cr_expect_eq(requested(k, value, &c), -EINVAL, "policy.set %s=%s", k->name, text);
    expect_said(k, k->name, "policy.set");
    parameters_clear(&c);
    parameters_put(&c, k, value);
    cr_expect_eq(sched_policy_check(&c, why, sizeof(why)), by_scheduler ? -EINVAL : 0, "%s=%s",
                 k->name, text);
    if (by_scheduler) expect_said(k, k->name, "scheduler");
}

Test(parameters, no_parameter_goes_beyond_its_bounds) {
    const struct parameter *k;

    for (int i = 0; (k = parameters_at(i)); i++) {
        expect_refused(k, is_flag(k) ? 2 : k->most + 1, true);
        if (k->type == PARAMETERS_AUTO) expect_refused(k, -2, true);
        if (k->type == PARAMETERS_SWITCH) expect_refused(k, -1, false);
        if (!is_flag(k) && k->least > 0) expect_refused(k, k->least - 1, false);
    }
}

Test(parameters, a_name_that_does_not_end_is_refused) {
    struct policy_config c;

    parameters_clear(&c);
    memset(c.kernel, 'x', sizeof(c.kernel));
    cr_expect_eq(sched_policy_check(&c, why, sizeof(why)), -EINVAL);
    cr_expect_str_eq(why, "a policy's name lacks its end");
    parameters_clear(&c);
    memset(c.control, 'x', sizeof(c.control));
    cr_expect_eq(sched_policy_check(&c, why, sizeof(why)), -EINVAL);
    cr_expect_str_eq(why, "a policy's name lacks its end");
}
