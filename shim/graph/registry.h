/* SPDX-License-Identifier: Apache-2.0
 *
 * Handles of graphs, their nodes, executable graphs and user objects. Programs hold thousands of
 * them, and may hold one after its object has ended. The caller holds graph_lock.
 */
#ifndef SHIM_GRAPH_REGISTRY_H
#define SHIM_GRAPH_REGISTRY_H

#include <pthread.h>

#include "shim/handle.h"

/* One lock for all graphs. Graphs are created and changed under it, but not launched. */
extern pthread_mutex_t graph_lock;

/* Returns a handle for the object; NULL when out of memory, or when there are too many. */
void *registry_add(enum handle_kind kind, void *object);
/* Returns NULL for an invalid handle and for one of another kind. */
void *registry_find(enum handle_kind kind, const void *handle);
void registry_remove(enum handle_kind kind, const void *handle);

#endif
