/* SPDX-License-Identifier: Apache-2.0
 *
 * Causes that end a client's context: a failed operation, or a broken protocol. The fault is sticky
 * and names the kernel and the launch. The client is abandoned at the next safe point. Loss of the
 * device (ERR_DEVICE_LOST) ends no client that another worker continues (completion_page.h).
 */
#ifndef DAEMON_WORKER_FAULTS_FAULT_H
#define DAEMON_WORKER_FAULTS_FAULT_H

struct client;
struct op;

/* Raises the failure in op->dev.result. Only the first fault that the client is told counts. */
void fault_raise_op(struct client *c, const struct op *op);
/* Raises any other error that ends the client's context, with a text for people. */
void fault_raise(struct client *c, int err, const char *text);
/* Ends the context of a client that did nothing wrong, before all its work is done. Unlike
 * fault_raise, counts no fault, logs nothing, and leaves it to the caller to abandon the client.
 * Does nothing when the client has a fault. */
void fault_void(struct client *c, int err);
/* The client broke the protocol. Tells the client, the log and the broker; the worker reads nothing
 * more from the client. */
void fault_expel(struct client *c, const char *why);

#endif
