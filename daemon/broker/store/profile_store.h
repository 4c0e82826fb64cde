/* SPDX-License-Identifier: Apache-2.0
 *
 * What programs needed, kept in a file (store_file.h): a job that does not say what it needs is
 * given what is remembered. Owner: struct broker. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_STORE_PROFILE_STORE_H
#define DAEMON_BROKER_STORE_PROFILE_STORE_H

#include <sys/types.h>

#include "daemon/broker/config/config.h"
#include "daemon/broker/store/profile.h"
#include "daemon/broker/store/store_file.h"
#include "proto/wire/wire.h"

struct profile_store {
    struct profiles table;
    struct store_file file;
};

void profile_store_open(struct profile_store *p, const struct config *config, uv_loop_t *loop);
void profile_store_stop(struct profile_store *p); /* its timer; once, before the loop ends */
/* What was learned is written now. */
void profile_store_close(struct profile_store *p);

/* Fills what a job did not say from what is remembered, where that fits into a device of so many
 * bytes: true when that is its reservation. */
bool profile_store_fill(const struct profile_store *p, uint64_t device_bytes, uid_t uid,
                        struct wire_job *job);
/* A job ended with these counters; `whole`: it ended as it wanted to. */
void profile_store_learn(struct profile_store *p, uid_t uid, const struct wire_job *job,
                         const struct wire_stats *stats, bool whole);

#endif
