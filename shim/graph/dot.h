/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph as a drawing for Graphviz.
 */
#ifndef SHIM_GRAPH_DOT_H
#define SHIM_GRAPH_DOT_H

#include <stdio.h>

#include "shim/graph/graph.h"

/* The caller holds graph_lock. `detail`: also the parameters of each node, not only its kind and
 * kernel. */
void dot_write(FILE *out, const struct graph *g, bool detail);

#endif
