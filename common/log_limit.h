/* SPDX-License-Identifier: Apache-2.0
 *
 * So many log records of each kind, so that nobody who can provoke records can fill a disk with
 * them: one a second; or a burst at once and four a second on the average, where many come together
 * and each counts. A kind is a topic and a format; how many records were left out is said with the
 * next one, or after a while.
 *
 * Owner: the process. Threads: any.
 */
#ifndef COMMON_LOG_LIMIT_H
#define COMMON_LOG_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/* Both strings live as long as the process. Whether a record of this kind may be written at this
 * time (CLOCK_MONOTONIC); `burst`: how many at once, the same for all of a kind; *suppressed: how
 * many were not since the one before. More kinds than the table has places for are not limited. */
bool log_limit_pass(const char *topic, const char *fmt, unsigned burst, uint64_t now_ns,
                    uint64_t *suppressed);

/* Calls `say` for each kind of which records were left out, and then none came for a second; at
 * any time when `all`. */
void log_limit_report(uint64_t now_ns, bool all,
                      void (*say)(const char *topic, const char *fmt, uint64_t suppressed));

#endif
