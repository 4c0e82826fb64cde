/* SPDX-License-Identifier: Apache-2.0
 *
 * Handles of graphs, their nodes, executable graphs and user objects: programs hold thousands, and
 * may hold one for longer than it lives. All of it with graph_lock held.
 */
#ifndef SHIM_GRAPH_REGISTRY_H
#define SHIM_GRAPH_REGISTRY_H

#include <pthread.h>

#include "shim/handle.h"

/* One lock for all graphs: they are made and changed, not launched, under it. */
extern pthread_mutex_t graph_lock;

/* A handle for it; NULL when there is no memory, or when there are too many. */
void *registry_add(enum handle_kind kind, void *object);
/* NULL for what is none of this kind, or no longer. */
void *registry_find(enum handle_kind kind, const void *handle);
void registry_remove(enum handle_kind kind, const void *handle);

#endif
