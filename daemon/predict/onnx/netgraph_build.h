/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds a graph from protobuf messages. A node that calls a function of the file is replaced by
 * the function's nodes, with new values for each call.
 */
#ifndef DAEMON_PREDICT_ONNX_NETGRAPH_BUILD_H
#define DAEMON_PREDICT_ONNX_NETGRAPH_BUILD_H

#include <onnx.pb-c.h>

#include "daemon/predict/onnx/complaint.h"
#include "daemon/predict/onnx/netgraph.h"

/* Fills a graph of which only `memory` and `message` are set. Returns 0, or -EINVAL or -ENOMEM with
 * the reason in `why`. */
int netgraph_build(struct netgraph *g, const Onnx__ModelProto *m, struct complaint *why);

#endif
