/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors of segments: what a program has of an allocation that it exported is one end of a
 * pair of sockets, with the key in it (wire.h); the other end is here. It hangs up when nobody has
 * the program's end any more, whoever had it and however he ended. Until then the segment is kept,
 * also when no client holds it.
 *
 * A user's descriptors keep no more memory than his bound, for it may all be in host memory; and no
 * more of them than there are free for others, of half of what this process may have.
 *
 * Owner: the worker. Thread: its own.
 */
#ifndef DAEMON_WORKER_SEGMENTS_KEEPER_H
#define DAEMON_WORKER_SEGMENTS_KEEPER_H

#include <stdint.h>

#include "common/list.h"

struct segment;

struct keepers {
    struct list list;  /* keeper.link */
    struct list users; /* keeper_user.link: those that have some */
    uint32_t count, room;
    int epoll_fd; /* readable when some have hung up; -1: not open */
};

int keepers_open(
    struct keepers *k); /* 0 or -errno; finish follows in any case, after clients' end */
void keepers_finish(struct keepers *k);

/* `fd`, of which the other end is the descriptor, is taken over in any case. The segment has a key;
 * `most`: what the descriptors of its user may keep. ERR_NO_MEMORY: that is less; -EMFILE: he has
 * too many; -errno. */
int keepers_take(struct keepers *k, struct segment *s, int fd, uint64_t most);

/* Lets go of what some that hung up kept; how many. */
unsigned keepers_look(struct keepers *k);

#endif
