/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits the rate of log records of each kind, so that a client that can provoke records cannot
 * fill a disk: one a second; or a burst at once and four a second on average, for records that many
 * clients cause and that all matter. A kind is a topic and a format. The number of suppressed
 * records is logged with the next record, or after a while.
 *
 * Owner: the process. Threads: any.
 */
#ifndef COMMON_LOG_LIMIT_H
#define COMMON_LOG_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/* True if a record of this kind may be written at this time (CLOCK_MONOTONIC). Both strings must
 * live as long as the process. `burst`: records allowed at once, constant for a kind. *suppressed:
 * records suppressed since the previous one. Kinds that do not fit the table are not limited. */
bool log_limit_pass(const char *topic, const char *fmt, unsigned burst, uint64_t now_ns,
                    uint64_t *suppressed);

/* Calls `say` for each kind with suppressed records and none in the last second, or with `all` for
 * each kind with suppressed records. */
void log_limit_report(uint64_t now_ns, bool all,
                      void (*say)(const char *topic, const char *fmt, uint64_t suppressed));

#endif
