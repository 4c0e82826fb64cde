/* SPDX-License-Identifier: Apache-2.0
 *
 * Orders of the broker: attach, detach, settings. Owner: the worker. Thread: its own.
 */
#ifndef DAEMON_WORKER_FRONT_BROKER_ORDER_H
#define DAEMON_WORKER_FRONT_BROKER_ORDER_H

#include <stdbool.h>

struct worker;

/* Handles messages that have arrived; sets w->link.over when the socket ends or fails, or a message
 * is invalid. At a safe point only. */
void broker_order_read(struct worker *w);
/* True when broker_order_reap would find clients. */
bool broker_order_pending(const struct worker *w);
/* Frees the leaving clients that have no operation on the device, no background task and no move
 * left, and tells the broker. */
void broker_order_reap(struct worker *w);

#endif
