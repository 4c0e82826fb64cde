/* SPDX-License-Identifier: Apache-2.0
 *
 * Records about a client's signals (signal.h) that are in no stream.
 */
#ifndef DAEMON_WORKER_FRONT_SIGNAL_RECORD_H
#define DAEMON_WORKER_FRONT_SIGNAL_RECORD_H

struct client;
struct wire_signal;

/* SIGNAL_MAKE and the following, checked: carried out and answered. */
void signal_record_run(struct client *c, const struct wire_signal *rec);

#endif
