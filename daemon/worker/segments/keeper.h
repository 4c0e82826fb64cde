/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors of segments. A program that exports an allocation gets one end of a pair of sockets,
 * with the key in it (wire.h). The other end is here. It hangs up when no process has the program's
 * end any more, however the processes ended. Until then the segment is kept, even when no client
 * holds it.
 *
 * A user's descriptors keep at most as much memory as the user's limit allows, since all of it may
 * be in host memory. Descriptors use at most half of those that this process may have, and a user
 * never takes more of them than it leaves free for others.
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
    struct list users; /* keeper_user.link: users with descriptors */
    uint32_t count, room;
    int epoll_fd; /* readable when a descriptor has hung up; -1: not open */
};

/* 0 or -errno; call keepers_finish in any case, after the clients have ended. */
int keepers_open(struct keepers *k);
void keepers_finish(struct keepers *k);

/* Keeps the segment, which has a key, until the other end of `fd` hangs up. Takes over `fd` in any
 * case. `most`: bytes that the user's descriptors may keep. ERR_NO_MEMORY: that is exceeded;
 * -EMFILE: the user has too many; -errno. */
int keepers_take(struct keepers *k, struct segment *s, int fd, uint64_t most);

/* Releases the segments of descriptors that hung up; returns how many. */
unsigned keepers_look(struct keepers *k);

#endif
