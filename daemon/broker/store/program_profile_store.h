/* SPDX-License-Identifier: Apache-2.0
 *
 * Program profiles in a file (store_file.h): a job that does not state its needs gets the stored
 * ones. Owner: struct broker. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_STORE_PROGRAM_PROFILE_STORE_H
#define DAEMON_BROKER_STORE_PROGRAM_PROFILE_STORE_H

#include <sys/types.h>

#include "daemon/broker/config/config.h"
#include "daemon/broker/store/program_profile.h"
#include "daemon/broker/store/store_file.h"
#include "proto/wire/wire.h"

struct program_profile_store {
    struct program_profiles table;
    struct store_file file;
};

void program_profile_store_open(struct program_profile_store *p, const struct config *config,
                                uv_loop_t *loop);
void program_profile_store_stop(
    struct program_profile_store *p); /* stops its timer; once, before the loop ends */
/* Writes unsaved profiles now. */
void program_profile_store_close(struct program_profile_store *p);

/* Fills in the planned length and the reservation that the job did not state; the reservation only
 * if it fits into a device of this size. Returns true when the reservation comes from the profile.
 */
bool program_profile_store_fill(const struct program_profile_store *p, uint64_t device_bytes,
                                uid_t uid, struct wire_job *job);
/* Learns from the counters of an ended job. `whole`: it ended normally, so that its iterations are
 * all that it has. */
void program_profile_store_learn(struct program_profile_store *p, uid_t uid,
                                 const struct wire_job *job, const struct wire_stats *stats,
                                 bool whole);

#endif
