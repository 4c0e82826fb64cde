/* SPDX-License-Identifier: Apache-2.0
 *
 * The lognormal distribution of a mean and a 0.99 quantile: e^(mu + sigma z), z normal. Its mean is
 * e^(mu + sigma^2 / 2), its quantile e^(mu + 2.3263 sigma); so sigma is the smaller root of
 *     sigma^2 / 2 - 2.3263 sigma + ln(quantile / mean) = 0.
 * Where the quantile is above 14.97 times the mean there is none. Without a library's exp, log and
 * sqrt, so that it is the same number on every machine. Pure.
 *
 * Owner: nobody. Thread: any.
 */
#ifndef DAEMON_SIM_SERVE_LOGNORMAL_H
#define DAEMON_SIM_SERVE_LOGNORMAL_H

#include <stdbool.h>

/* Whether there is such a one. */
bool lognormal_is(double mean, double p99);

/* What is as far from the middle as z is of a normal distribution; there must be such a one. */
double lognormal_at(double mean, double p99, double z);

#endif
