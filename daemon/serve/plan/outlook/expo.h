/* SPDX-License-Identifier: Apache-2.0
 *
 * e^x made of additions, multiplications and divisions, so that it is the same number on every
 * machine: a library's exp is right within an ulp, but not everywhere by the same, and which of two
 * requests goes first must not depend on who computes it. Pure.
 *
 * Owner: nobody. Thread: any.
 */
#ifndef DAEMON_SERVE_PLAN_OUTLOOK_EXPO_H
#define DAEMON_SERVE_PLAN_OUTLOOK_EXPO_H

#define EXPO_MOST 700.0 /* beyond it: infinity; below its negative: 0 */

/* Relative error below 1e-15. */
double expo(double x);

/* e^x - 1 for x <= 0, without what the subtraction would lose near 0. */
double expo_less_one(double x);

/* x^n, n >= 0. */
double expo_power(double x, unsigned n);

#endif
