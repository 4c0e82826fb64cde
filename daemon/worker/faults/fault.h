/* SPDX-License-Identifier: Apache-2.0
 *
 * What ends a client's context: an operation that failed, or a broken protocol. The fault is sticky
 * and names the kernel and the launch. The client is abandoned at the next safe point. That the
 * device is lost (ERR_DEVICE_LOST) ends nobody with whom another worker goes on
 * (completion_page.h).
 */
#ifndef DAEMON_WORKER_FAULTS_FAULT_H
#define DAEMON_WORKER_FAULTS_FAULT_H

struct client;
struct op;

/* op->dev.result says what failed. Only the first fault of a client that it is told counts. */
void fault_raise_op(struct client *c, const struct op *op);
/* Anything else that ends its context, with a text for people. */
void fault_raise(struct client *c, int err, const char *text);
/* It ends through no failure of its own, before all that it asked for was done: the same, but not
 * counted among its faults. Silent when it has one. */
void fault_void(struct client *c, int err);
/* The client broke the protocol: tells it, the log and the broker, and reads nothing more of it. */
void fault_expel(struct client *c, const char *why);

#endif
