/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of a client: abandoned at its fault or when the broker says so, released once nothing of
 * it is on the device, then freed. Owner: the worker. Thread: its own.
 */
#ifndef DAEMON_WORKER_OPERATIONS_CLIENT_END_H
#define DAEMON_WORKER_OPERATIONS_CLIENT_END_H

struct client;

/* Stops everything: cancels what runs or has not begun, drops what is queued. `err` is its fault
 * when it has none yet, and is there before anything is dropped. At a safe point only (not while a
 * step's actions or a poll's completions are being carried out). */
void client_end_abandon(struct client *c, int err);
/* Releases the client's device memory, some in each round of the loop (memory_move.h); nothing of
 * it is on the device.
 */
void client_end_release(struct client *c);
/* What is left of it at once, and the client is freed. */
void client_end_destroy(struct client *c);

#endif
