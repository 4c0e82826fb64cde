/* SPDX-License-Identifier: Apache-2.0
 *
 * What the broker wants: who attaches, who is gone, what is set. Owner: the worker. Thread: its
 * own.
 */
#ifndef DAEMON_WORKER_FRONT_ORDER_H
#define DAEMON_WORKER_FRONT_ORDER_H

#include <stdbool.h>

struct worker;

/* Handles what has arrived; sets w->link.over at end of file. At a safe point only. */
void order_read(struct worker *w);
/* True when a reap would find some. */
bool order_pending(const struct worker *w);
/* Frees the leaving clients that have nothing left on the device, and says so. */
void order_reap(struct worker *w);

#endif
