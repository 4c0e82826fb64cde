/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations of one node, forward, from its shapes. Pure.
 */
#ifndef DAEMON_PREDICT_FEATURES_FLOPS_H
#define DAEMON_PREDICT_FEATURES_FLOPS_H

#include "daemon/predict/onnx/netgraph.h"
#include "daemon/predict/shape/ops.h"

/* Of a node whose shapes are known. */
double flops_node(struct netgraph *g, const struct node *n, const struct op *op);

#endif
