/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of program profiles: what it learns and forgets, and its text format, valid and
 * invalid.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "daemon/broker/store/program_profile.h"

static struct program_profiles p;
static char why[PROGRAM_PROFILE_WHY_BYTES];

static void teardown(void) {
    program_profile_finish(&p);
}

TestSuite(profile, .fini = teardown);

static void learn(uint64_t uid, uint64_t key, uint64_t persistent, uint64_t ephemeral,
                  uint64_t iterations) {
    struct program_profile m = {.uid = uid,
                                .key = key,
                                .persistent_bytes = persistent,
                                .ephemeral_bytes = ephemeral,
                                .iterations = iterations,
                                .iteration_ns = 7};

    cr_assert_eq(program_profile_learn(&p, &m), 0);
}

Test(profile, user_and_program_together_are_the_key) {
    learn(1, 42, 100, 0, 1);
    cr_assert_not_null(program_profile_find(&p, 1, 42));
    cr_assert_null(program_profile_find(&p, 2, 42));
    cr_assert_null(program_profile_find(&p, 1, 43));
    cr_assert_null(program_profile_find(&p, 1, 0), "0 is no program");
}

Test(profile, needs_grow_at_once_and_shrink_slowly) {
    learn(1, 42, 100, 1000, 50);
    learn(1, 42, 200, 600, 0);
    cr_assert_eq(p.count, 1);
    cr_assert_eq(p.items[0].persistent_bytes, 200);
    cr_assert_eq(p.items[0].ephemeral_bytes, 900);
    cr_assert_eq(p.items[0].iterations, 50, "a job that was cut short says nothing of them");
    cr_assert_eq(p.items[0].seen, 2);
    learn(1, 42, 200, 600, 60);
    cr_assert_eq(p.items[0].iterations, 60);
}

Test(profile, the_table_is_bounded_and_the_oldest_use_goes) {
    for (uint64_t i = 1; i <= PROGRAM_PROFILE_MAX; i++)
        learn(1, i, i, 0, 1);
    learn(1, 1, 1, 0, 1); /* used again, so that the second profile is the oldest */
    learn(1, PROGRAM_PROFILE_MAX + 1, 5, 0, 1);
    cr_assert_eq(p.count, PROGRAM_PROFILE_MAX);
    cr_assert_not_null(program_profile_find(&p, 1, 1));
    cr_assert_null(program_profile_find(&p, 1, 2));
    cr_assert_not_null(program_profile_find(&p, 1, 3));
}

Test(profile, its_text_comes_back_also_when_it_is_as_long_as_can_be) {
    struct program_profiles again;
    struct buf b;

    for (uint64_t i = 0; i < PROGRAM_PROFILE_MAX; i++)
        learn(UINT64_MAX - i, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX);
    buf_init(&b);
    program_profile_init(&again);
    program_profile_print(&p, &b);
    cr_assert_leq(b.len, PROGRAM_PROFILE_FILE_MAX);
    cr_assert_eq(program_profile_parse(&again, buf_str(&b), b.len, why), 0, "%s", why);
    cr_assert_eq(again.count, p.count);
    cr_assert_arr_eq(again.items, p.items, p.count * sizeof(*p.items));
    program_profile_finish(&again);
    buf_finish(&b);
}

Test(profile, its_text_has_these_bytes) {
    struct buf b;

    buf_init(&b);
    learn(1000, 42, 3, 4, 6);
    program_profile_print(&p, &b);
    cr_assert_str_eq(buf_str(&b), "salus-profiles 1 1\n1000 42 3 4 7 6 0 1\n");
    buf_finish(&b);
}

#define PARSE(text) program_profile_parse(&p, text, sizeof(text) - 1, why)

#define EXPECT_WRONG(text, reason)                \
    do {                                          \
        cr_assert_eq(PARSE(text), -EINVAL);       \
        cr_assert_str_eq(why, reason, "%s", why); \
        cr_assert_eq(p.count, 0);                 \
    } while (0)

Test(profile, text_that_is_wrong_is_refused_whole) {
    static const char title[] = "the file does not begin with 'salus-profiles VERSION COUNT'";

    EXPECT_WRONG("", title);
    EXPECT_WRONG("salus-profiles 1 0", title);
    EXPECT_WRONG("salus-profiles 1\n", title);
    EXPECT_WRONG("salus-profiles 1 0 \n", title);
    EXPECT_WRONG("salus-profiles one 0\n", title);
    EXPECT_WRONG("SALUS-profiles 1 0\n", title);
    EXPECT_WRONG("salus-profiles 2 0\n", "the file has version 2 instead of 1");
    EXPECT_WRONG("salus-profiles 1 4097\n", "the file has 4097 entries, more than 4096");
    EXPECT_WRONG("salus-profiles 1 1\n", "line 2 does not consist of 8 numbers");
    EXPECT_WRONG("salus-profiles 1 1\n1 2 3 4 5 6 7 8", "line 2 does not consist of 8 numbers");
    EXPECT_WRONG("salus-profiles 1 1\n1 2 3 4 5 6 7\n", "line 2 does not consist of 8 numbers");
    EXPECT_WRONG("salus-profiles 1 1\n1 2 3 4 5 6 7 8 9\n", "line 2 does not consist of 8 numbers");
    EXPECT_WRONG("salus-profiles 1 1\n1 2 -3 4 5 6 7 8\n", "line 2 does not consist of 8 numbers");
    EXPECT_WRONG("salus-profiles 1 1\n1 2 3 4 5 6 7 18446744073709551616\n",
                 "line 2 does not consist of 8 numbers");
    EXPECT_WRONG("salus-profiles 1 1\n1 2 3 4\0 5 6 7 8\n", "line 2 does not consist of 8 numbers");
    EXPECT_WRONG("salus-profiles 1 1\n1 0 3 4 5 6 7 8\n",
                 "the key of line 2 is 0 or repeats another line");
    EXPECT_WRONG("salus-profiles 1 2\n1 2 3 4 5 6 7 8\n1 2 3 4 5 6 7 8\n",
                 "the key of line 3 is 0 or repeats another line");
    EXPECT_WRONG("salus-profiles 1 1\n1 2 3 4 5 6 7 8\n\n", "the file continues after line 2");
}

Test(profile, every_cut_of_a_good_text_is_refused) {
    static const char good[] = "salus-profiles 1 2\n1 2 3 4 5 6 7 8\n1 3 3 4 5 6 7 8\n";

    cr_assert_eq(PARSE(good), 0);
    program_profile_finish(&p);
    for (size_t n = 0; n < sizeof(good) - 1; n++)
        cr_assert_eq(program_profile_parse(&p, good, n, why), -EINVAL, "cut at %zu", n);
}
