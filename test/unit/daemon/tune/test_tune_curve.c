/* SPDX-License-Identifier: Apache-2.0
 *
 * (3.1) and (3.2) compared with numbers computed by hand, and the limits of lemmas 4 and 6.
 */
#include <criterion/criterion.h>
#include <math.h>

#include "daemon/tune/fluid_curve.h"
#include "daemon/tune/salus_fluid.h"

Test(tune_curve, run_times_are_those_of_the_equation) {
    cr_expect_float_eq(salus_fluid_run_ns(100, 1, 1.3, 1.2), 100, 1e-9);
    cr_expect_float_eq(salus_fluid_run_ns(100, 0.5, 1.3, 1.2), 130, 1e-9);
    cr_expect_float_eq(salus_fluid_run_ns(100, 0.25, 1.3, 1.2), 100 * 1.3 * 1.3 * 1.3, 1e-9);
    cr_expect_float_eq(salus_fluid_run_ns(100, 2, 1.3, 1.2), 60, 1e-9);
    cr_expect_float_eq(salus_fluid_run_ns(100, 4, 1.3, 1.2), 25 * 1.2 * 1.2 * 1.2, 1e-9);
}

Test(tune_curve, even_sharing_keeps_areas) {
    for (double p = 1; p < 9; p++)
        cr_expect_float_eq(salus_fluid_run_ns(100, 1 / p, SALUS_FLUID_EVEN, 1), 100 * p, 1e-9);
}

Test(tune_curve, the_benefit_is_that_of_the_equation) {
    cr_expect_float_eq(salus_fluid_benefit(2, 10, 10), 0.5, 1e-12);
    cr_expect_float_eq(salus_fluid_benefit(2, 20, 10), 0, 1e-12);
    cr_expect_float_eq(salus_fluid_benefit(3, 15, 12), 1 - 2.0 / 3 * 15 / 12, 1e-12);
}

/* Benefits: 0.45, 0.333, 0.125, -0.2, 0.6. */
Test(tune_curve, packing_ends_where_the_benefit_falls_below_the_threshold) {
    const double mean[] = {10, 11, 11, 12.8333333, 19.25, 9.24};
    cr_expect_eq(salus_fluid_packed_most(mean, 6, 0.2), 3);
    cr_expect_eq(salus_fluid_packed_most(mean, 6, 0.1), 4);
    cr_expect_eq(salus_fluid_packed_most(mean, 6, 0), 4,
                 "what comes behind the fall is not looked at");
    cr_expect_eq(salus_fluid_packed_most(mean, 2, 0), 2);
    cr_expect_eq(salus_fluid_packed_most(mean, 6, 0.45), 1);
    cr_expect_eq(salus_fluid_packed_most(mean, 0, 0), 0);
    cr_expect_eq(salus_fluid_packed_most((double[]){1, 0}, 2, 0), 0);
    cr_expect_eq(salus_fluid_packed_most((double[]){1, NAN}, 2, 0), 0);
}

Test(tune_curve, overheads_are_found_again) {
    double packed[5];
    double spread[5];
    for (int i = 0; i < 5; i++) {
        packed[i] = salus_fluid_run_ns(7, 1.0 / (i + 1), 1.15, 1);
        spread[i] = salus_fluid_run_ns(7, i + 1, 1, 1.08);
    }
    cr_expect_float_eq(salus_fluid_alpha(packed, 5), 1.15, 1e-9);
    cr_expect_float_eq(salus_fluid_beta(spread, 5), 1.08, 1e-9);
    cr_expect_eq(salus_fluid_alpha(packed, 1), 1);
    cr_expect_eq(salus_fluid_alpha((double[]){2, 1}, 2), 1, "faster beside others: no overhead");
    cr_expect_eq(salus_fluid_alpha((double[]){2, -1}, 2), 0);
    cr_expect_eq(salus_fluid_beta(NULL, 0), 0);
}

/* Lemma 4: the c-th trial on a GPU shortens the mean time per trial, the next one does not. */
Test(tune_curve, as_many_are_packed_as_gain) {
    for (double alpha = 1.0113; alpha < 3; alpha += 0.013) {
        uint32_t c = salus_fluid_packed_by(alpha);
        for (uint32_t p = 2; p <= c + 1; p++) {
            double benefit = salus_fluid_benefit(p, pow(alpha, p - 1), pow(alpha, p - 2));
            cr_expect_eq(benefit > 1e-12, p <= c, "alpha %g, c %u, p %u: %g", alpha, c, p, benefit);
        }
    }
    cr_expect_eq(salus_fluid_packed_by(1), CURVE_LIMIT);
    cr_expect_eq(salus_fluid_packed_by(SALUS_FLUID_EVEN), CURVE_LIMIT);
    cr_expect_eq(salus_fluid_packed_by(10), 1);
}

/* Lemma 6: beta < (d+1)/d, and one GPU more than d causes no loss yet. */
Test(tune_curve, as_many_gpus_are_taken_as_lemma_6_allows) {
    for (double beta = 1.0113; beta < 3; beta += 0.013) {
        uint32_t d = salus_fluid_spread_by(beta);
        cr_expect(d == 1 || beta < (d + 1.0) / d, "beta %g, d %u", beta, d);
        cr_expect_not(beta < (d + 2.0) / (d + 1), "beta %g, d %u", beta, d);
        for (uint32_t w = 2; w <= d; w++)
            cr_expect_lt(salus_fluid_run_ns(1, w, 1, beta), salus_fluid_run_ns(1, w - 1, 1, beta));
    }
}

Test(tune_curve, what_is_no_overhead_is_none) {
    const double bad[] = {-1, 0.5, 0.999, 1001, NAN, INFINITY};
    for (int i = 0; i < 6; i++) {
        cr_expect_not(fluid_curve_can_be(&(struct curve){bad[i], 1}), "alpha %g", bad[i]);
        cr_expect_not(fluid_curve_can_be(&(struct curve){1, bad[i]}), "beta %g", bad[i]);
    }
    cr_expect(fluid_curve_can_be(&(struct curve){1, 1}));
    cr_expect(fluid_curve_can_be(&(struct curve){SALUS_FLUID_EVEN, 1}));
    cr_expect_not(fluid_curve_can_be(&(struct curve){1, 0}));
}
