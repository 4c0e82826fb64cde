/* SPDX-License-Identifier: Apache-2.0
 *
 * The one JSON object that a probe prints, and time. Separate from probe.h for the probes that nvcc
 * compiles.
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

/* Begins a report. `name`: the probe's, that of its source file without the extension; both strings
 * must last. */
void probe_begin(const char *name, const char *question);
/* True with PROBE_SMALL=1: use small sizes, for the software GPU or a first look. */
bool probe_small(void);
/* These add a figure or fact and also print it on standard error at once, so that a probe that dies
 * has printed it. */
__attribute__((format(printf, 3, 4))) void probe_figure(double value, const char *unit,
                                                        const char *name, ...);
__attribute__((format(printf, 2, 3))) void probe_fact(const char *name, const char *text, ...);
/* Adds NAME_min, NAME_median and NAME_max; sorts the values. */
void probe_spread(double *values, int n, const char *unit, const char *name);
/* Prints the object and returns main()'s exit status. `ok`: the measurement worked, and everything
 * that must hold on any device held. */
__attribute__((format(printf, 2, 3))) int probe_end(bool ok, const char *answer, ...);

uint64_t probe_now_ns(void);
void probe_sleep_ms(double ms);

#ifdef __cplusplus
}
#endif

#endif
