/* SPDX-License-Identifier: Apache-2.0
 *
 * The changes of an environment, written for a shell or terminated by NULs.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/ctl/environment/changes.h"

static char text[4096];
static size_t bytes;

static void print(const struct changes *c, bool null) {
    FILE *out = fmemopen(text, sizeof(text), "w");

    cr_assert(out);
    changes_print(c, out, null);
    bytes = (size_t)ftell(out);
    fclose(out);
    text[bytes] = '\0';
}

Test(changes, new_and_other_values_are_printed_and_no_others) {
    struct changes c;

    clearenv();
    setenv("SAME", "1", 1);
    setenv("OTHER", "1", 1);
    cr_assert_eq(changes_take(&c), 0);
    print(&c, false);
    cr_expect_str_eq(text, "");
    setenv("SAME", "1", 1);
    setenv("OTHER", "it's $HOME", 1);
    setenv("NEW", "", 1);
    print(&c, false);
    cr_expect(strstr(text, "export OTHER='it'\\''s $HOME'\n"), "%s", text);
    cr_expect(strstr(text, "export NEW=''\n"), "%s", text);
    cr_expect_null(strstr(text, "SAME"));
    changes_finish(&c);
}

Test(changes, what_is_gone_is_unset) {
    struct changes c;

    clearenv();
    setenv("GONE", "1=2", 1);
    setenv("KEPT", "1", 1);
    cr_assert_eq(changes_take(&c), 0);
    unsetenv("GONE");
    setenv("KEPT", "2", 1);
    print(&c, false);
    cr_expect_str_eq(text, "unset GONE\nexport KEPT='2'\n");
    print(&c, true);
    cr_expect_str_eq(text, "KEPT=2");
    changes_finish(&c);
}

Test(changes, with_nul_they_are_as_they_are) {
    struct changes c;

    clearenv();
    cr_assert_eq(changes_take(&c), 0);
    setenv("A", "two\nlines", 1);
    print(&c, true);
    cr_expect_eq(bytes, sizeof("A=two\nlines"));
    cr_expect_eq(memcmp(text, "A=two\nlines", bytes), 0);
    changes_finish(&c);
}
