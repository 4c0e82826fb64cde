/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory that a client, the worker and the broker share for one job: descriptors, the broker's
 * mappings, and the word that tells the client's threads that no more completions will come.
 *
 * Owner: the struct that contains it. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_JOBS_PAGES_H
#define DAEMON_BROKER_JOBS_PAGES_H

#include "proto/wire/wire.h"

struct pages {
    int submission_fd, doorbell_fd;     /* open until pages_close_fds; -1: not open */
    int host_fd;                        /* open to the end, also to measure its usage */
    struct wire_submission *submission; /* mapped, or NULL */
};

void pages_init(struct pages *p);

/* Creates the submission memfd (mapped), a host memfd of this size, and the doorbell. Returns 0, or
 * -errno with everything undone. */
int pages_create(struct pages *p, uint64_t host_bytes);
/* Closes the descriptors: the client has its own copies, and no other worker will need them. The
 * host memory's stays open. */
void pages_close_fds(struct pages *p);
void pages_finish(struct pages *p);

/* Size of the host memory that is in use. */
uint64_t pages_pinned(const struct pages *p);

/* Stores `err` (negative) in submission.lost and wakes every parked thread of the client. */
void pages_lose(struct pages *p, int err);

/* Stores the number of the wire_moved that was sent, and wakes every parked thread of the client.
 */
void pages_move(struct pages *p, uint32_t number);

/* Maps a worker's completion memfd read-only: the first page has the fault, counters and running
 * operations, the last one latency results. Does not keep `fd`. Returns 0; -EINVAL unless `fd` is a
 * sealed memfd that is large enough; or an error of fdutil_scarce that came instead of a
 * descriptor. */
int pages_map_completion(int fd, const struct wire_completion **out);
void pages_unmap_completion(const struct wire_completion *c); /* accepts NULL */

#endif
