/* SPDX-License-Identifier: Apache-2.0
 *
 * e^x compared with the C library's, over the whole range that scores need.
 */
#include <criterion/criterion.h>
#include <math.h>

#include "daemon/serve/plan/outlook/expo.h"

#define STEPS 200000

static void expect_near(double got, double want, double x) {
    cr_assert_leq(fabs(got - want), 1e-14 * fabs(want), "x %.17g: %.17g, not %.17g", x, got, want);
}

Test(plan_expo, is_the_exponential) {
    for (int i = -STEPS; i <= STEPS; i++) {
        double x = EXPO_MOST * i / STEPS;
        expect_near(expo(x), exp(x), x);
    }
    for (int i = 0; i <= STEPS; i++)
        expect_near(expo(1e-3 * i / STEPS), exp(1e-3 * i / STEPS), 1e-3 * i / STEPS);
    cr_expect_eq(expo(0), 1);
}

Test(plan_expo, ends_at_nothing_and_at_infinity) {
    cr_expect_eq(expo(-EXPO_MOST - 1), 0);
    cr_expect_eq(expo(-INFINITY), 0);
    cr_expect(isinf(expo(EXPO_MOST + 1)));
}

/* For a bin of 1 us at b = 1e-6 a ms, e^x - 1 is x; a subtraction would leave seven digits. */
Test(plan_expo, less_one_keeps_its_digits_near_nothing) {
    for (double x = -1e-12; x > -600; x *= 1.001)
        expect_near(expo_less_one(x), expm1(x), x);
    cr_expect_eq(expo_less_one(0), 0);
}

Test(plan_expo, powers_are_products) {
    cr_expect_eq(expo_power(0.3, 0), 1);
    cr_expect_eq(expo_power(0, 0), 1);
    cr_expect_eq(expo_power(2, 10), 1024);
    for (unsigned n = 1; n < 130; n++)
        expect_near(expo_power(0.97, n), pow(0.97, n), n);
}
