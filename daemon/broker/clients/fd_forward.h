/* SPDX-License-Identifier: Apache-2.0
 *
 * Sends a file of a running client, or a descriptor of one of its segments, to the worker
 * (wire_file), which answers in the client's own page. One at a time: until the worker reports that
 * it has answered, nothing more is read from the client, so that its files never fill the channel.
 *
 * Thread: the loop's.
 */
#ifndef DAEMON_BROKER_CLIENTS_FD_FORWARD_H
#define DAEMON_BROKER_CLIENTS_FD_FORWARD_H

#include "daemon/broker/clients/client.h"

/* Handles a message of a running client and takes its descriptor over; -1: none, -EMFILE: we had no
 * descriptor for it. An invalid wire_file ends the client. A file that could shrink is not sent to
 * the worker, which answers all the same. */
void fd_forward_take(struct client *c, const void *msg, size_t bytes, int fd);

/* The worker has answered. Returns false if nothing was asked. */
bool fd_forward_done(struct client *c);

/* fd_forward_hold: no worker has its job; only the client's end is awaited. fd_forward_resume: one
 * has it again. */
void fd_forward_hold(struct client *c);
void fd_forward_resume(struct client *c);

/* The descriptor could not be sent. Returns false if none was being sent. */
bool fd_forward_lost(struct client *c, int err);

#endif
