/* SPDX-License-Identifier: Apache-2.0
 *
 * Places: at most max_jobs clients are jobs, or about to be. A client whose hello was good and for
 * which there is no place waits in a queue. Of the users that wait, the one with the fewest places
 * gets the next, so that nobody's many jobs keep others out; and of one user's clients only a part
 * of all places (places_most_beginning) is given to such as have not accepted their windows, so
 * that clients that say nothing keep nobody out.
 *
 * A process of a run of which another process has a place never waits for one: it is refused.
 *
 * Owner: struct clients. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_CLIENTS_PLACES_H
#define DAEMON_BROKER_CLIENTS_PLACES_H

#include "daemon/broker/clients/client.h"

/* `begin` is what a client does that has a place. / Before the loop ends. */
void places_init(struct clients *clients, void (*begin)(struct client *c));
void places_stop(struct clients *clients);

/* The client's hello was good: it begins, waits, or is refused. It may be
 * closed when this returns. */
void places_ask(struct client *c);
/* Gives free places to clients that wait. */
void places_give(struct clients *clients);
/* The client is a job from now on. */
void places_settle(struct client *c);

/* The most clients of one user that may have a place before they are jobs. */
uint64_t places_most_beginning(const struct config *config);

/* The waiting client with the lowest job number above `after`; NULL: there is none. */
struct client *places_next(const struct clients *clients, uint64_t after);
/* Why it waits, for people, and its place in the queue, from 1. */
uint32_t places_explain(const struct client *c, char *why, size_t cap);

#endif
