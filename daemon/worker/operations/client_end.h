/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of a client: abandoned at its fault or when the broker says so, released once the device
 * has finished its operations, then freed. Owner: the worker. Thread: its own.
 */
#ifndef DAEMON_WORKER_OPERATIONS_CLIENT_END_H
#define DAEMON_WORKER_OPERATIONS_CLIENT_END_H

struct client;

/* Stops the client: cancels operations that run or have not begun, and drops queued ones. `err`
 * becomes its fault if it has none, before anything is dropped. Called at a safe point only (not
 * while a step's actions or a poll's completions are being carried out). */
void client_end_abandon(struct client *c, int err);
/* Releases the client's device memory, some in each round of the loop (memory_move.h). The device
 * has no operation of the client. */
void client_end_release(struct client *c);
/* Releases the rest at once and frees the client. */
void client_end_destroy(struct client *c);

#endif
