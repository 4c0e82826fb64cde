/* SPDX-License-Identifier: Apache-2.0
 *
 * A file of a running client, or a descriptor of a segment of its, on its way to the worker
 * (wire_file), which answers in the client's own page. One at a time: until the worker has said
 * that it answered, nothing more is read of the client, so that its files never fill the channel.
 *
 * Thread: the loop's.
 */
#ifndef DAEMON_BROKER_CLIENTS_LENDING_H
#define DAEMON_BROKER_CLIENTS_LENDING_H

#include "daemon/broker/clients/client.h"

/* What a running client said, with its descriptor, which is taken over; or -1, none, or -EMFILE,
 * one that we had no room for. What is no wire_file ends the client; a file that could shrink
 * never reaches the worker, which answers for it all the same. */
void lending_take(struct client *c, const void *msg, size_t bytes, int fd);

/* The worker answered; false: nothing was asked. */
bool lending_done(struct client *c);

/* No worker has its job: nothing is read of it, but its end. / One has it again. */
void lending_hold(struct client *c);
void lending_resume(struct client *c);

/* The descriptor could not be sent after all; false: none was being sent. */
bool lending_lost(struct client *c, int err);

#endif
