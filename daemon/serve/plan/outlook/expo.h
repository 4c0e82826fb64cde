/* SPDX-License-Identifier: Apache-2.0
 *
 * e^x computed with additions, multiplications and divisions only, so that all machines give the
 * same number. The errors of library functions are within an ulp but differ between libraries, and
 * the order of two requests must not depend on the machine. Pure.
 *
 * Owner: none. Thread: any.
 */
#ifndef DAEMON_SERVE_PLAN_OUTLOOK_EXPO_H
#define DAEMON_SERVE_PLAN_OUTLOOK_EXPO_H

#define EXPO_MOST 700.0 /* above this: infinity; below its negative: 0 */

/* Relative error below 1e-15. */
double expo(double x);

/* e^x - 1 for x <= 0, without cancellation near 0. */
double expo_less_one(double x);

/* x^n, n >= 0. */
double expo_power(double x, unsigned n);

#endif
