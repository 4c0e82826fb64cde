/* SPDX-License-Identifier: Apache-2.0
 *
 * What programs needed, kept in a file (store_file.h): a job that does not say what it needs is
 * given what is remembered. Owner: the server. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_STORE_PROFILE_STORE_H
#define DAEMON_BROKER_STORE_PROFILE_STORE_H

#include "daemon/broker/broker.h"

void profile_store_open(struct server *s);
/* The server stops: what was learned is written now. */
void profile_store_close(struct server *s);

/* Fills what a job did not say from what is remembered: true when that was its word. */
bool profile_store_fill(const struct server *s, uid_t uid, struct wire_job *job);
/* A job ended with these counters; `whole`: it ended as it wanted to. */
void profile_store_learn(struct server *s, uid_t uid, const struct wire_job *job,
                         const struct wire_stats *stats, bool whole);

#endif
