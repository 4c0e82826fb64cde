/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of comma-separated values: the fields, the ends of rows, and rejected input.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/csv.h"

static struct csv c;

static void teardown(void) {
    csv_finish(&c);
}

TestSuite(csv, .fini = teardown);

#define READ(text) csv_init(&c, text, sizeof(text) - 1)

/* Expects the next row on this line, with these fields, separated by bars. */
static void expect(uint32_t line, const char *fields) {
    char got[256] = "";

    cr_assert_eq(csv_next(&c), 1, "%s", c.why);
    for (uint32_t i = 0; i < c.count; i++) {
        strcat(got, i ? "|" : "");
        strcat(got, csv_field(&c, i));
    }
    cr_assert_str_eq(got, fields);
    cr_assert_eq(c.line, line, "line %u", c.line);
}

Test(csv, fields_bare_and_quoted) {
    READ("a,b c,,\"d,e\",\"say \"\"hi\"\"\",f\"g\n1\r\n\"\"\n,\n");
    expect(1, "a|b c||d,e|say \"hi\"|f\"g");
    expect(2, "1");
    expect(3, "");
    expect(4, "|");
    cr_assert_eq(c.count, 2);
    cr_assert_eq(csv_next(&c), 0);
    cr_assert_eq(csv_next(&c), 0);
}

Test(csv, a_quoted_field_may_have_lines_and_empty_ones_are_skipped) {
    READ("a,\"b\nc\"\n\n\r\nd");
    expect(1, "a|b\nc");
    expect(5, "d");
    cr_assert_eq(csv_next(&c), 0);
}

Test(csv, a_carriage_return_alone_is_a_character) {
    READ("a\rb,c\r");
    expect(1, "a\rb|c\r");
}

Test(csv, what_is_not_there_is_empty) {
    READ("a,b\n");
    expect(1, "a|b");
    cr_assert_str_eq(csv_field(&c, 2), "");
    cr_assert_eq(csv_find(&c, "b"), 1);
    cr_assert_eq(csv_find(&c, "c"), -1);
}

#define REFUSED(text, reason, at)            \
    do {                                     \
        READ(text);                          \
        cr_assert_eq(csv_next(&c), 1);       \
        cr_assert_eq(csv_next(&c), -EINVAL); \
        cr_assert_str_eq(c.why, reason);     \
        cr_assert_eq(c.line, at);            \
        csv_finish(&c);                      \
    } while (0)

Test(csv, what_is_wrong_is_refused_with_its_line) {
    REFUSED("a\nb,\"c\n", "a quotation mark is not closed", 2);
    REFUSED("a\n\n\"b\"c\n", "text follows a closing quotation mark", 3);
    REFUSED("a\nb\0c\n", "the line contains a NUL byte", 2);
}

Test(csv, rows_are_bounded) {
    size_t bytes = CSV_ROW_MAX + 16;
    char *text = malloc(bytes);

    memset(text, ',', bytes);
    csv_init(&c, text, CSV_FIELDS_MAX - 1);
    cr_assert_eq(csv_next(&c), 1);
    cr_assert_eq(c.count, CSV_FIELDS_MAX);
    csv_finish(&c);
    csv_init(&c, text, CSV_FIELDS_MAX);
    cr_assert_eq(csv_next(&c), -EINVAL);
    cr_assert_str_eq(c.why, "the line has more than 8192 fields");
    csv_finish(&c);
    memset(text, 'a', bytes);
    csv_init(&c, text, CSV_ROW_MAX - 1);
    cr_assert_eq(csv_next(&c), 1);
    csv_finish(&c);
    csv_init(&c, text, CSV_ROW_MAX);
    cr_assert_eq(csv_next(&c), -EINVAL);
    cr_assert_str_eq(c.why, "the line is longer than 1 MiB");
    free(text);
}
