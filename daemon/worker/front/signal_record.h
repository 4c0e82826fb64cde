/* SPDX-License-Identifier: Apache-2.0
 *
 * Records about a client's signals (signal.h) that belong to no stream.
 */
#ifndef DAEMON_WORKER_FRONT_SIGNAL_RECORD_H
#define DAEMON_WORKER_FRONT_SIGNAL_RECORD_H

struct client;
struct wire_signal;

/* Carries out a checked SIGNAL_MAKE, SIGNAL_OPEN, SIGNAL_CLOSE or SIGNAL_ASK, and answers. */
void signal_record_run(struct client *c, const struct wire_signal *rec);

#endif
