/* SPDX-License-Identifier: Apache-2.0
 *
 * Program profiles: the needs measured of jobs with the same user and the same `profile` (program
 * and arguments). A bounded table in order of use, and its text form. Pure.
 *
 * Owner: the caller.
 */
#ifndef DAEMON_BROKER_STORE_PROGRAM_PROFILE_H
#define DAEMON_BROKER_STORE_PROGRAM_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

#define PROGRAM_PROFILE_MAX 4096u
#define PROGRAM_PROFILE_FILE_MAX (1u << 20) /* upper bound of the text of a full table */
#define PROGRAM_PROFILE_WHY_BYTES 160

struct program_profile {
    uint64_t uid, key;
    uint64_t persistent_bytes, ephemeral_bytes; /* P, E */
    uint64_t iteration_ns, iterations, launches;
    uint64_t seen; /* number of jobs that the profile was learned from */
};

struct program_profiles {
    struct program_profile *items; /* least recently used first */
    uint32_t count, cap;
};

void program_profile_init(struct program_profiles *p);
void program_profile_finish(struct program_profiles *p);

/* Returns NULL when nothing is known. */
const struct program_profile *program_profile_find(const struct program_profiles *p, uint64_t uid,
                                                   uint64_t key);

/* Learns the measured needs of a job with this key. A larger need is taken as it is; a smaller one
 * counts for a quarter, so that one small run does not make the next reservation too small.
 * `iterations` 0: the job does not tell how many there are in all. Returns 0 or -ENOMEM. */
int program_profile_learn(struct program_profiles *p, const struct program_profile *measured);

/* Appends the table as text; sets b->failed when out of memory. */
void program_profile_print(const struct program_profiles *p, struct buf *b);
/* Fills an empty table from the text that program_profile_print writes. Returns 0; -EINVAL with the
 * reason and the table empty; -ENOMEM. */
int program_profile_parse(struct program_profiles *p, const char *text, size_t bytes, char *why);

#endif
