/* SPDX-License-Identifier: Apache-2.0
 *
 * What is remembered of programs: what a job with the same user and the same `profile` (program and
 * arguments) needed last time. A bounded table in the order of use, and its text. Pure.
 * Owner: the caller.
 */
#ifndef DAEMON_BROKER_STORE_PROFILE_H
#define DAEMON_BROKER_STORE_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

#define PROFILE_MAX 4096u
#define PROFILE_FILE_MAX (1u << 20) /* a table of so many entries is shorter */
#define PROFILE_WHY_BYTES 160

struct profile {
    uint64_t uid, key;
    uint64_t persistent_bytes, ephemeral_bytes; /* P, E */
    uint64_t iteration_ns, iterations, launches;
    uint64_t seen; /* jobs that it was learned from */
};

struct profiles {
    struct profile *items; /* oldest use first */
    uint32_t count, cap;
};

void profile_init(struct profiles *p);
void profile_finish(struct profiles *p);

/* NULL when nothing is known. */
const struct profile *profile_find(const struct profiles *p, uint64_t uid, uint64_t key);

/* What a job with this key was measured to need. A need that grew is taken as it is; one that
 * shrank counts for a quarter, so that one small run does not make the next one too small.
 * `iterations` 0: how many there are in all is not known from this job. 0 or -ENOMEM. */
int profile_learn(struct profiles *p, const struct profile *measured);

/* Appends the table as text; b->failed when memory is short. */
void profile_print(const struct profiles *p, struct buf *b);
/* Fills an empty table from such text: 0; -EINVAL with the reason and the table empty; -ENOMEM. */
int profile_parse(struct profiles *p, const char *text, size_t bytes, char *why);

#endif
