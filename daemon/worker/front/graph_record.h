/* SPDX-License-Identifier: Apache-2.0
 *
 * Records about graphs: they define, launch, offer to kernels and drop graphs. `rec` passed
 * record_check. Return 0, or ERR_PROTOCOL with `why`.
 */
#ifndef DAEMON_WORKER_FRONT_GRAPH_RECORD_H
#define DAEMON_WORKER_FRONT_GRAPH_RECORD_H

#include <stddef.h>

struct client;

int graph_record_data(struct client *c, const void *rec, char *why, size_t why_bytes);
int graph_record_launch(struct client *c, const void *rec, char *why, size_t why_bytes);
int graph_record_offer(struct client *c, const void *rec, char *why, size_t why_bytes);
int graph_record_drop(struct client *c, const void *rec, char *why, size_t why_bytes);

#endif
