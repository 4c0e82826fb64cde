/* SPDX-License-Identifier: Apache-2.0
 *
 * Places: at most max_jobs clients are jobs or about to be. A client with a valid hello for which
 * there is no place waits in a queue. The waiting user with the fewest places gets the next one, so
 * that one user's many jobs do not block others. Clients of one user that have not accepted their
 * windows get at most places_most_beginning places, so that silent clients block nobody.
 *
 * A process of a run that has a place comes before other clients. If all places, or all of its
 * user's, are taken, it is refused: processes of its run may wait for it.
 *
 * Owner: struct clients. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_CLIENTS_PLACES_H
#define DAEMON_BROKER_CLIENTS_PLACES_H

#include "daemon/broker/clients/client.h"

/* `begin` is called for a client that got a place. places_stop: before the loop ends. */
void places_init(struct clients *clients, void (*begin)(struct client *c));
void places_stop(struct clients *clients);

/* Called after a valid hello: the client begins, waits, or is refused. It may be closed on return.
 */
void places_ask(struct client *c);
/* Gives free places to waiting clients. */
void places_give(struct clients *clients);
/* The client is a job from now on. */
void places_settle(struct client *c);

/* Largest number of one user's clients that have a place and are not jobs yet. */
uint64_t places_most_beginning(const struct config *config);

/* Returns the waiting client with the lowest job number above `after`; NULL: there is none. */
struct client *places_next(const struct clients *clients, uint64_t after);
/* Explains for people why the client waits; returns its place in the queue, from 1. */
uint32_t places_explain(const struct client *c, char *why, size_t cap);

#endif
