/* SPDX-License-Identifier: Apache-2.0
 *
 * Program profiles in a file (store_file.h): a job that does not state its needs gets the stored
 * ones. Owner: struct broker. Thread: the loop's.
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
void profile_store_stop(struct profile_store *p); /* stops its timer; once, before the loop ends */
/* Writes unsaved profiles now. */
void profile_store_close(struct profile_store *p);

/* Fills in what the job did not state, if that fits into a device of this size. Returns true when
 * its reservation comes from the profile. */
bool profile_store_fill(const struct profile_store *p, uint64_t device_bytes, uid_t uid,
                        struct wire_job *job);
/* Learns from the counters of an ended job. `whole`: it ended normally. */
void profile_store_learn(struct profile_store *p, uid_t uid, const struct wire_job *job,
                         const struct wire_stats *stats, bool whole);

#endif
