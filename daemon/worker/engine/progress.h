/* SPDX-License-Identifier: Apache-2.0
 *
 * An operation's way through its client's books: pushed, complete, freed. Owner: the client.
 * Thread: the worker's.
 */
#ifndef DAEMON_WORKER_ENGINE_PROGRESS_H
#define DAEMON_WORKER_ENGINE_PROGRESS_H

struct client;
struct op;
struct stream;

/* Appends it to its stream. 0 or -ENOMEM, with `op` still the caller's. */
int progress_push(struct client *c, struct stream *s, struct op *op);
/* What is complete of the stream is freed, and what waited for it goes on. */
void progress_retire(struct client *c, struct stream *s);
/* An operation that was not pushed is freed. */
void progress_drop(struct client *c, struct op *op);

#endif
