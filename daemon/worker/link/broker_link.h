/* SPDX-License-Identifier: Apache-2.0
 *
 * The socket to the broker: who attaches, who is gone, that we live. End of file means that the
 * broker died, and then so does the worker.
 */
#ifndef DAEMON_WORKER_LINK_BROKER_LINK_H
#define DAEMON_WORKER_LINK_BROKER_LINK_H

#include "daemon/worker/worker.h"

/* Says what the device is, with the worker's board; or, with `result` < 0 and a text, why there is
 * none (`info` NULL, `board_fd` -1). */
int broker_link_ready(int broker_fd, const struct dev_info *info, int board_fd, int result,
                      const char *text);
/* Handles what has arrived; sets w->stop at end of file. At a safe point only. */
void broker_link_read(struct worker *w);
void broker_link_beat(struct worker *w);
void broker_link_expelled(struct worker *w, const struct client *c, const char *why);
/* The scheduler will never admit it. */
void broker_link_refused(struct worker *w, const struct client *c, const char *why);
/* True when a reap would find some. */
bool broker_link_pending(const struct worker *w);
/* Frees the leaving clients that have nothing left on the device, and says so. */
void broker_link_reap(struct worker *w);

#endif
