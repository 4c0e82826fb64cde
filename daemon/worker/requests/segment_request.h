/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's requests about segments: it makes them, opens those of its user's other clients, maps
 * them into its window, and shares its own. A client that has a segment's key may open it if it has
 * the same user; other users' segments are not found.
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

/* Carries out MEM_MAKE and the following (checked) in parts, one for each call, and answers.
 * `done`: bytes done so far, 0 at first. Returns whether it is finished. MEM_SHARE: nothing of the
 * client is in flight. */
bool segment_request_act(struct client *c, const struct wire_segment *rec, uint64_t *done);

/* Gives the client a descriptor of its segment, and answers. `fd`, the other end of it, is taken
 * over in any case. `err`: why there is none. */
void segment_request_keep(struct client *c, const struct wire_file *f, int fd, int err);

#endif
