/* SPDX-License-Identifier: Apache-2.0
 *
 * Recording the scheduler's events.
 */
#ifndef DAEMON_CTL_RECORD_RECORD_EVENTS_H
#define DAEMON_CTL_RECORD_RECORD_EVENTS_H

#include <stdint.h>

struct cli;

/* Until interrupted, or for so long (0: no limit). An exit status, after a diagnostic. */
int record_events(struct cli *c, uint64_t for_ns, const char *path);

/* For whoever does something else meanwhile: the worker writes to the file, one of ours, as long as
 * this is renewed now and then. `end` says, with `what` as its name, when it is not whole. Exit
 * statuses, after diagnostics. */
struct record_lease {
    int fd;
    uint64_t renewed_ns;
};
int record_events_begin(struct cli *c, struct record_lease *l, int fd);
int record_events_renew(struct cli *c, struct record_lease *l);
int record_events_end(struct cli *c, const struct record_lease *l, const char *what);

#endif
