/* SPDX-License-Identifier: Apache-2.0
 *
 * Maps names of groups to numbers, for the scheduler: the same number for the same name of the same
 * user while any of its jobs exists, and never one number for two names. Owner: the broker.
 */
#ifndef DAEMON_BROKER_JOBS_GROUPS_H
#define DAEMON_BROKER_JOBS_GROUPS_H

#include <stdint.h>
#include <sys/types.h>

#define GROUPS_MAX 1024 /* more than there are windows for jobs */
#define GROUPS_NAME_BYTES 32

struct group {
    uint32_t number, users; /* users 0: the entry is free */
    uid_t uid;
    char name[GROUPS_NAME_BYTES];
};

struct groups {
    struct group table[GROUPS_MAX];
};

/* Returns a number other than 0, to be released once per call; 0 for an empty name, or when the
 * table is full. */
uint32_t groups_take(struct groups *g, uid_t uid, const char *name);
void groups_put(struct groups *g, uint32_t number);

/* The initial number, before collisions are resolved. */
uint32_t groups_hash(uid_t uid, const char *name);

#endif
