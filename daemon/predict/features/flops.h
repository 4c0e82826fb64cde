/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts the operations of one node's forward pass from its shapes. Pure.
 */
#ifndef DAEMON_PREDICT_FEATURES_FLOPS_H
#define DAEMON_PREDICT_FEATURES_FLOPS_H

#include "daemon/predict/onnx/netgraph.h"
#include "daemon/predict/shape/ops.h"

/* Operations of a node whose shapes are known. */
double flops_node(struct netgraph *g, const struct node *n, const struct op *op);

#endif
