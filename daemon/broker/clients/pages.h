/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory a client shares: its descriptors, the broker's views of them, and the word that tells
 * its threads that nothing more will come. Owner: the client that the pages hang from.
 */
#ifndef DAEMON_BROKER_CLIENTS_PAGES_H
#define DAEMON_BROKER_CLIENTS_PAGES_H

#include "daemon/broker/broker.h"

/* Submission memfd (mapped), host memfd, doorbell. 0 or -errno with what was made undone. */
int pages_create(struct client *c);

/* Maps the first page of the worker's completion memfd, read-only, for as long as the attachment
 * lives. Keeps nothing of `fd`. -EINVAL when it is not a sealed memfd of the right size. */
int pages_see_completion(struct attachment *a, int fd);
void pages_forget_completion(struct attachment *a);

/* Stores `err` (negative) in submission.lost and wakes every parked thread of the client. */
void pages_lose(struct client *c, int err);

/* The client has its own copies now; the host memory's stays, for pages_pinned: how much of it is
 * in use. */
void pages_close_fds(struct client *c);
uint64_t pages_pinned(const struct client *c);
void pages_finish(struct client *c);

#endif
