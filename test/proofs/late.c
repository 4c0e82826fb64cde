/* SPDX-License-Identifier: Apache-2.0
 * A test with an assertion that fails after its end: Criterion prints it, and counts the test as
 * passed. */
#include <criterion/criterion.h>

static void leave(void) {
    cr_assert_fail("something is left");
}

Test(late, passes, .fini = leave) {
    cr_assert(true);
}
