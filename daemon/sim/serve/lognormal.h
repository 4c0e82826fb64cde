/* SPDX-License-Identifier: Apache-2.0
 *
 * The lognormal distribution with a given mean and 0.99 quantile: e^(mu + sigma z), z normal. Its
 * mean is e^(mu + sigma^2 / 2), its quantile e^(mu + 2.3263 sigma). So sigma is the smaller root of
 *
 *     sigma^2 / 2 - 2.3263 sigma + ln(quantile / mean) = 0.
 *
 * There is none if the quantile exceeds 14.97 times the mean. Does not use a library's exp, log and
 * sqrt, so that all machines give the same number. Pure.
 *
 * Owner: none. Thread: any.
 */
#ifndef DAEMON_SIM_SERVE_LOGNORMAL_H
#define DAEMON_SIM_SERVE_LOGNORMAL_H

#include <stdbool.h>

/* Tests whether such a distribution exists. */
bool lognormal_is(double mean, double p99);

/* The value at z deviations from the median; the distribution must exist. */
double lognormal_at(double mean, double p99, double z);

#endif
