/* SPDX-License-Identifier: Apache-2.0
 *
 * Recording the scheduler's events.
 */
#ifndef DAEMON_CTL_RECORD_EVENTS_H
#define DAEMON_CTL_RECORD_EVENTS_H

#include <stdint.h>

struct cli;

/* Until interrupted, or for so long (0: no limit). An exit status, after a diagnostic. */
int record_events(struct cli *c, uint64_t for_ns, const char *path);

#endif
