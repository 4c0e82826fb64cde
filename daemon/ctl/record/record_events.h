/* SPDX-License-Identifier: Apache-2.0
 *
 * Records the scheduler's events.
 */
#ifndef DAEMON_CTL_RECORD_RECORD_EVENTS_H
#define DAEMON_CTL_RECORD_RECORD_EVENTS_H

#include <stdint.h>

struct cli;

/* Records until interrupted, or for this time (0: no limit). Returns an exit status, after a
 * diagnostic. */
int record_events(struct cli *c, uint64_t for_ns, const char *path);

/* Records while the caller does something else: the worker writes events into the caller's file
 * `fd` as long as record_events_renew is called at least once in 10 s. record_events_end ends the
 * recording, and reports an incomplete file under the name `what`. Each function returns CLI_OK, or
 * an exit status after a diagnostic. */
struct record_lease {
    int fd;
    uint64_t renewed_ns;
};
int record_events_begin(struct cli *c, struct record_lease *l, int fd);
int record_events_renew(struct cli *c, struct record_lease *l);
int record_events_end(struct cli *c, const struct record_lease *l, const char *what);

#endif
