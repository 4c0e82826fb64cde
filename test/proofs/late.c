/* SPDX-License-Identifier: Apache-2.0
 *
 * A test that finds something when it is over: Criterion says so, and counts it as passed.
 */
#include <criterion/criterion.h>

static void leave(void) {
    cr_assert_fail("something is left");
}

Test(late, passes, .fini = leave) {
    cr_assert(true);
}
