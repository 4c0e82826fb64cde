/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs that are chosen while others run: bodies of conditional nodes, and graphs that kernels
 * launch. Their records are read independently of the ring, because the ring may wait for them.
 */
#ifndef DAEMON_WORKER_FRONT_NESTED_GRAPH_H
#define DAEMON_WORKER_FRONT_NESTED_GRAPH_H

#include "daemon/worker/client.h"

/* Reads a bounded share for a client that lives; returns the number of records read and bodies
 * chosen. */
unsigned nested_graph_sweep(struct worker *w, struct client *c);
/* True when a sweep would find work. */
static inline bool nested_graph_ready(const struct client *c) {
    return !list_empty(&c->streams.due) || device_launch_ready(&c->launching);
}

#endif
