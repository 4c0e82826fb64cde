/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph as a drawing for Graphviz.
 */
#ifndef SHIM_GRAPH_DOT_H
#define SHIM_GRAPH_DOT_H

#include <stdio.h>

#include "shim/graph/graph.h"

/* With graph_lock held. `detail`: what each node does, not only of which kind it is and which
 * kernel. */
void dot_write(FILE *out, const struct graph *g, bool detail);

#endif
