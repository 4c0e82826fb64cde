/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory that a client, the worker and the broker share for one job: descriptors, the broker's
 * views, and the word that tells the client's threads that nothing more will come.
 *
 * Owner: whoever holds the struct. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_JOBS_PAGES_H
#define DAEMON_BROKER_JOBS_PAGES_H

#include "proto/wire/wire.h"

struct pages {
    int submission_fd, doorbell_fd;     /* until pages_close_fds; -1: not open */
    int host_fd;                        /* to the end, also to see how much of it is in use */
    struct wire_submission *submission; /* mapped, or NULL */
};

void pages_init(struct pages *p);

/* Submission memfd (mapped), host memfd of so many bytes, doorbell. 0 or -errno with what was made
 * undone. */
int pages_create(struct pages *p, uint64_t host_bytes);
/* The client has its own copies now, and no other worker will get any; the host memory's stays. */
void pages_close_fds(struct pages *p);
void pages_finish(struct pages *p);

/* How much of the host memory is in use. */
uint64_t pages_pinned(const struct pages *p);

/* Stores `err` (negative) in submission.lost and wakes every parked thread of the client. */
void pages_lose(struct pages *p, int err);

/* Stores the number of the wire_moved that was sent, and wakes every parked thread likewise. */
void pages_move(struct pages *p, uint32_t number);

/* A worker's completion memfd, mapped read-only: fault, counters and what runs are in its first
 * page, what targets of latency came to is in its last. Keeps nothing of `fd`. -EINVAL when it is
 * not a sealed memfd of the right size. */
int pages_map_completion(int fd, const struct wire_completion **out);
void pages_unmap_completion(const struct wire_completion *c); /* accepts NULL */

#endif
