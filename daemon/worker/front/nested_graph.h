/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs that are chosen while others run: bodies of conditional nodes, and what kernels launch.
 * Their records are read beside the ring, whatever that waits for, since what it waits for may be
 * they.
 */
#ifndef DAEMON_WORKER_FRONT_NESTED_GRAPH_H
#define DAEMON_WORKER_FRONT_NESTED_GRAPH_H

#include "daemon/worker/client.h"

/* Of a client that lives, a bounded share: how many records were read, and bodies chosen. */
unsigned nested_graph_sweep(struct worker *w, struct client *c);
/* True when a sweep would find something. */
static inline bool nested_graph_ready(const struct client *c) {
    return !list_empty(&c->streams.due) || device_launch_ready(&c->launching);
}

#endif
