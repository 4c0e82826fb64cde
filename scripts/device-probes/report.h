/* SPDX-License-Identifier: Apache-2.0
 *
 * The one JSON object that a probe prints, and time. Apart from probe.h for those that CUDA's
 * compiler reads.
 *
 * Owner: the process. Thread: the main thread, but for probe_now_ns() and probe_sleep_ms().
 */
#ifndef DEVICE_PROBES_REPORT_H
#define DEVICE_PROBES_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The name is the file's. Reads PROBE_SMALL. */
void probe_begin(const char *name, const char *question);
/* Sizes for a device that is none, or a first look: PROBE_SMALL=1. */
bool probe_small(void);
/* Each is said on standard error as well as it comes, so that a probe that dies has said it. */
__attribute__((format(printf, 3, 4))) void probe_figure(double value, const char *unit,
                                                        const char *name, ...);
__attribute__((format(printf, 2, 3))) void probe_fact(const char *name, const char *text, ...);
/* NAME_min, NAME_median and NAME_max; sorts them. */
void probe_spread(double *values, int n, const char *unit, const char *name);
/* Prints the object and gives main()'s exit status. `ok`: the question was asked, and whatever must
 * be so on any device was so. */
__attribute__((format(printf, 2, 3))) int probe_end(bool ok, const char *answer, ...);

uint64_t probe_now_ns(void);
void probe_sleep_ms(double ms);

#ifdef __cplusplus
}
#endif

#endif
