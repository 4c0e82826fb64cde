/* SPDX-License-Identifier: Apache-2.0
 *
 * The limits of a user, from sections [user NAME] and [group NAME] in configuration files.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/broker/config/config_file.h"
#include "daemon/broker/config/config_load.h"
#include "daemon/broker/config/config_rules.h"
#include "daemon/broker/config/limits.h"

#define ALICE 54321
#define BOB 54322
#define ML 54399
#define HPC 54400

static struct config config;
static char errors[4096];

/* Reads the text as a file; returns the number of errors, whose lines are in `errors`. */
static int read_text(const char *text) {
    char path[] = "/tmp/salus-limits-XXXXXX";
    int fd = mkstemp(path), bad;
    FILE *out = fmemopen(errors, sizeof(errors), "w");

    errors[0] = '\0';
    config_defaults(&config);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    bad = config_file_read(&config, path, true, out);
    unlink(path);
    fclose(out);
    return bad;
}

static uint64_t limit_of(uid_t uid, int limit, const gid_t *groups, int count) {
    struct limits l;

    limits_resolve(&config, uid, groups, count, &l);
    return l.value[limit];
}

#define OF(uid, name, ...)                                              \
    limit_of(uid, LIMIT(name), (gid_t[]){__VA_ARGS__ __VA_OPT__(, ) 0}, \
             sizeof((gid_t[]){__VA_ARGS__ __VA_OPT__(, ) 0}) / sizeof(gid_t) - 1)

Test(limits, everybody_has_what_the_defaults_say) {
    config_defaults(&config);
    cr_assert_eq(OF(ALICE, user_jobs), 48, "three quarters of max_jobs");
    cr_assert_eq(OF(ALICE, user_handshakes), 64);
    cr_assert_eq(OF(ALICE, user_controls), 16);
    cr_assert_eq(OF(ALICE, max_priority), 0);
    cr_assert_eq(OF(ALICE, max_weight), 1);
    config.max_jobs = 1;
    cr_assert_eq(OF(ALICE, user_jobs), 1);
    config.user_connections = 0;
    cr_assert_eq(OF(ALICE, user_connections), LIMITS_NONE);
}

Test(limits, root_and_the_daemons_user_have_none_but_their_own) {
    char text[200];

    config_defaults(&config);
    for (int i = 0; i < CONFIG_LIMITS; i++) {
        cr_assert_eq(limit_of(0, i, NULL, 0), LIMITS_NONE);
        cr_assert_eq(limit_of(geteuid(), i, NULL, 0), LIMITS_NONE);
    }
    snprintf(text, sizeof(text), "[group %d]\nuser_jobs = 3\n[user %d]\nmax_weight = 7\n", ML,
             (int)geteuid());
    cr_assert_eq(read_text(text), 0, "%s", errors);
    cr_assert_eq(OF(geteuid(), user_jobs, ML), LIMITS_NONE, "nor those of groups");
    cr_assert_eq(OF(geteuid(), max_weight, ML), 7);
}

Test(limits, of_groups_the_most_generous_counts) {
    cr_assert_eq(read_text("[users]\nuser_jobs = 10\n"
                           "[group 54399]\nuser_jobs = 2\nmax_priority = 4\n"
                           "[group 54400]\nuser_jobs = 5\nuser_controls = 0\n"),
                 0, "%s", errors);
    cr_assert_eq(OF(ALICE, user_jobs), 10);
    cr_assert_eq(OF(ALICE, user_jobs, 7, ML), 2, "also where it is less than everybody's");
    cr_assert_eq(OF(ALICE, user_jobs, ML, HPC), 5);
    cr_assert_eq(OF(ALICE, user_jobs, HPC, ML), 5);
    cr_assert_eq(OF(ALICE, max_priority, HPC, ML), 4, "each limit by itself");
    cr_assert_eq(OF(ALICE, user_controls, ML, HPC), LIMITS_NONE);
    cr_assert_eq(OF(ALICE, user_handshakes, ML, HPC), 64);
}

Test(limits, a_users_own_section_counts_over_groups) {
    cr_assert_eq(read_text("[user 54322]\nuser_jobs = 1\n[group 54399]\nuser_jobs = 9\n"), 0, "%s",
                 errors);
    cr_assert_eq(OF(BOB, user_jobs, ML), 1);
    cr_assert_eq(OF(ALICE, user_jobs, ML), 9);
    cr_assert_eq(OF(BOB, max_weight, ML), 1, "of what it does not say, everybody's");
    cr_assert_eq(OF(ML, user_jobs), 48, "a user with a group's number is not that group");
}

Test(limits, who_has_limits_is_known_in_order) {
    cr_assert_eq(read_text("[user 54322]\nuser_jobs = 1\n[group 54399]\nuser_jobs = 9\n"
                           "[user 54321]\nmax_weight = 2\n"),
                 0, "%s", errors);
    cr_assert_eq(limits_next(&config, 0), 54321);
    cr_assert_eq(limits_next(&config, 54321), 54321);
    cr_assert_eq(limits_next(&config, 54322), 54322);
    cr_assert_eq(limits_next(&config, 54323), LIMITS_NONE, "a group is no user");
}

Test(limits, sections_of_one_user_add_up) {
    cr_assert_eq(read_text("[user root]\nuser_jobs = 1\n[user 0]\nmax_weight = 2\nuser_jobs = 3\n"),
                 0, "%s", errors);
    cr_assert_eq(config.rule_count, 1);
    cr_assert_eq(OF(0, user_jobs), 3);
    cr_assert_eq(OF(0, max_weight), 2);
}

Test(limits, what_is_wrong_is_said_with_its_line) {
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"[user nobody-at-all]\nuser_jobs = 1\n",
         ":2: section [user nobody-at-all]: this machine has no such user; correct the name, or "
         "give the number\n"},
        {"[group 1e3]\nuser_jobs = 1\n", ":2: section [group 1e3]: this machine has no such group; "
                                         "correct the name, or give the number\n"},
        {"[user 4294967295]\nuser_jobs = 1\n", ":2: section [user 4294967295]: this machine has no "
                                               "such user; correct the name, or give the number\n"},
        {"[user ]\nuser_jobs = 1\n", ":2: section [user ]: this machine has no such user; correct "
                                     "the name, or give the number\n"},
        {"[user root]\nmax_jobs = 1\n", ":2: key 'max_jobs' cannot be set in [user root]; the "
                                        "sections of users and groups take keys of [users]\n"},
        {"[user root]\nuser_jobs = 257\n", ":2: user_jobs: 257 is out of range: 0 to 256\n"},
        {"[user root]\nmax_weight = heavy\n", ":2: max_weight: 'heavy' is not a whole number\n"},
        {"[users]\nuser_job = 1\n", ":2: unknown key 'user_job'; did you mean 'user_jobs'?\n"},
        {"[user a-name-that-is-so-long-that-inih-itself-would-cut-it]\n",
         ":1: the section's name is longer than 49 bytes\n"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cr_assert_eq(read_text(cases[i].text), 1, "%s", cases[i].text);
        cr_assert_str_eq(strchr(errors, ':'), cases[i].why);
        cr_assert_eq(config.rule_count, 0);
    }
}

Test(limits, there_are_only_so_many_sections) {
    static char text[32 * (CONFIG_RULES_MAX + 1)];
    size_t n = 0;

    for (int i = 0; i <= CONFIG_RULES_MAX; i++)
        n += (size_t)sprintf(text + n, "[user %d]\nuser_jobs = 1\n", 1000 + i);
    cr_assert_eq(read_text(text), 1);
    cr_assert_str_eq(strchr(errors, ':'), ":258: section [user 1128]: the configuration has more "
                                          "than 128 sections of users and groups; remove one\n");
}

Test(limits, what_is_printed_can_be_read_back) {
    char *first, *second;
    size_t n;
    FILE *out = open_memstream(&first, &n);

    cr_assert_eq(
        read_text("[user root]\nuser_jobs = 7\nmax_priority = 3\n[group 54399]\nmax_weight = 9\n"),
        0);
    config_rules_print(&config, out);
    fclose(out);
    cr_assert_str_eq(
        first, "\n[user root]\nuser_jobs = 7\nmax_priority = 3\n\n[group 54399]\nmax_weight = 9\n");
    cr_assert_eq(read_text(first), 0);
    out = open_memstream(&second, &n);
    config_rules_print(&config, out);
    fclose(out);
    cr_assert_str_eq(second, first);
    free(first);
    free(second);
}

Test(limits, a_reload_takes_them_over) {
    static struct config fresh;

    cr_assert_eq(read_text("[user 54321]\nuser_jobs = 7\n"), 0);
    fresh = config;
    config_defaults(&config);
    cr_assert_eq(config_reload(&config, &fresh, stderr), 0);
    cr_assert_eq(OF(ALICE, user_jobs), 7);
    config_defaults(&fresh);
    config_reload(&config, &fresh, stderr);
    cr_assert_eq(OF(ALICE, user_jobs), 48);
}
