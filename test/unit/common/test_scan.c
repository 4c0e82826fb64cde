/* SPDX-License-Identifier: Apache-2.0
 *
 * After the first invalid word the scan reads no more.
 */
#include "common/text/scan.h"

#include <criterion/criterion.h>

Test(scan, numbers_and_characters_in_turn) {
    struct scan in = {"12:7x"};

    cr_assert_eq(scan_number(&in, UINT32_MAX), 12);
    cr_assert_not(scan_char(&in, '/'));
    cr_assert(scan_char(&in, ':'));
    cr_assert_eq(scan_number(&in, 7), 7);
    cr_assert_str_eq(in.at, "x");
}

/* Expects that the word has no number up to `most`, and that nothing can be read after it. */
static void expect_end(const char *word, uint64_t most) {
    struct scan in = {word};

    cr_assert_eq(scan_number(&in, most), 0, "%s", word);
    cr_assert_null(in.at, "%s", word);
    cr_assert_not(scan_char(&in, '1'), "%s", word);
    cr_assert_eq(scan_number(&in, most), 0, "%s", word);
}

Test(scan, what_is_no_number_ends_it) {
    expect_end("", UINT64_MAX);
    expect_end("x", UINT64_MAX);
    expect_end("-1", UINT64_MAX);
    expect_end("8", 7);
    expect_end("18446744073709551616", UINT64_MAX);
}

Test(scan, the_largest_number_is_taken) {
    struct scan in = {"18446744073709551615"};

    cr_assert_eq(scan_number(&in, UINT64_MAX), UINT64_MAX);
    cr_assert_str_eq(in.at, "");
}
