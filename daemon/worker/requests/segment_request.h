/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client does with segments: makes them, opens those of others of its user, shows them in
 * its window, and lets others open what it has. Who has a segment's key may open it, if he is of
 * the same user; another's is not found.
 *
 * Owner: the worker. Thread: its own.
 */
#ifndef DAEMON_WORKER_REQUESTS_SEGMENT_REQUEST_H
#define DAEMON_WORKER_REQUESTS_SEGMENT_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

struct client;
struct wire_file;
struct wire_segment;

/* MEM_MAKE and the following, checked: carried out in parts, one a call, and answered. How far that
 * is, in bytes: 0 at first. Whether it is finished. MEM_SHARE: nothing of the client is in flight.
 */
bool segment_request_act(struct client *c, const struct wire_segment *rec, uint64_t *done);

/* A descriptor of a segment of the client's: `fd`, the other end of it, is taken over in any case.
 * `err`: why there is none. Answered. */
void segment_request_keep(struct client *c, const struct wire_file *f, int fd, int err);

#endif
