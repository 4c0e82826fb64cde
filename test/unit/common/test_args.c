/* SPDX-License-Identifier: Apache-2.0
 *
 * A command's arguments: which are words, which are options, and the values of options.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/text/args.h"

static char text[8][32];
static char *argv[9];

/* Splits `line` at blanks into arguments. */
static struct args of(const char *line) {
    int n = 0, used = 0;

    for (; n < 8 && sscanf(line, "%31s%n", text[n], &used) == 1; line += used, n++)
        argv[n] = text[n];
    argv[n] = NULL;
    return (struct args){.rest = argv};
}

static void expect(struct args *a, enum args_kind kind, const char *name) {
    cr_assert_eq(args_next(a), kind, "%s", name);
    if (kind != ARGS_END) cr_assert_str_eq(a->name, name);
}

Test(args, words_and_options) {
    struct args a = of("run - --json file -n --");

    expect(&a, ARGS_WORD, "run");
    expect(&a, ARGS_WORD, "-");
    expect(&a, ARGS_OPTION, "--json");
    cr_assert(args_is(&a, "--json") && !args_is(&a, "--jso"));
    expect(&a, ARGS_WORD, "file");
    expect(&a, ARGS_OPTION, "-n");
    expect(&a, ARGS_OPTION, "--");
    expect(&a, ARGS_END, NULL);
    expect(&a, ARGS_END, NULL);
}

Test(args, values) {
    struct args a = of("--lane=a=b --lane c -n 5 --empty= next --last");

    expect(&a, ARGS_OPTION, "--lane");
    cr_assert_str_eq(args_value(&a), "a=b");
    cr_assert_not(args_is(&a, "--lane"), "a value was given");
    expect(&a, ARGS_OPTION, "--lane");
    cr_assert_str_eq(args_value(&a), "c");
    expect(&a, ARGS_OPTION, "-n");
    cr_assert_str_eq(args_value(&a), "5");
    expect(&a, ARGS_OPTION, "--empty");
    cr_assert_str_eq(args_value(&a), "");
    expect(&a, ARGS_WORD, "next");
    expect(&a, ARGS_OPTION, "--last");
    cr_assert_null(args_value(&a));
    expect(&a, ARGS_END, NULL);
}

/* A value never belongs to a later option, and one dash takes no "=". */
Test(args, values_stay_with_their_option) {
    struct args a = of("--window=1 word -o=file");

    expect(&a, ARGS_OPTION, "--window");
    cr_assert_str_eq(args_value(&a), "1");
    cr_assert_str_eq(args_value(&a), "1", "asked twice, it is the same");
    expect(&a, ARGS_WORD, "word");
    cr_assert_null(a.value);
    expect(&a, ARGS_OPTION, "-o=file");
}

Test(args, shown_as_given) {
    struct args a = of("--lane=5 --lane 5");

    expect(&a, ARGS_OPTION, "--lane");
    cr_assert_str_eq(args_whole(&a), "--lane=5");
    expect(&a, ARGS_OPTION, "--lane");
    args_value(&a);
    cr_assert_str_eq(args_whole(&a), "--lane");
}
